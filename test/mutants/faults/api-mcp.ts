// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are parts of source files
import type { Faults } from '../fault.ts'

export const mcpFaults: Faults = {
  'src/api/mcp/tools.ts': {
    tests: ['test/api/mcp.test.ts'],
    faults: [
      ["name !== 'format'", "name !== 'order'"],
      ["  'getChains',\n", ''],
      [" || tags.includes('Plans')", ''],
      ["if (!isTaken(name)) throw invalidField(name, `unknown parameter '${name}'`)\n", ''],
      ["if (value === undefined) throw invalidField(name, 'is required')\n", ''],
      ['/^\\d\\w*$/', '/^\\w*$/'],
      ['/^\\d\\w*$/', '/^\\d.*$/'],
      ["if (!['string', 'number', 'boolean'].includes(typeof item))", 'if (item === null)'],
      ["'number', 'boolean']", "'number']"],
      ['!Number.isSafeInteger(item)', '!Number.isFinite(item)'],
      [".join(',')\n\n/** An argument in a path", ".join(';')\n\n/** An argument in a path"],
      ['if (url.length > maxHeaderSize)', 'if (url.length > 4 * maxHeaderSize)'],
      ['inPath.has(name) ? [] : ', ''],
      ["    throw invalidField('arguments', 'are nested too deeply')\n", "    return '{}'\n"],
      ['title}. ${description}', 'description}'],
      ['({ name, required }) => (required ? [name] : [])', '({ name }) => [name]'],
      ['additionalProperties: false', 'additionalProperties: true'],
    ],
  },
  'src/api/mcp/resources.ts': {
    tests: ['test/api/mcp.test.ts'],
    faults: [
      ['URL.canParse(url) ? new URL(url).pathname : ', ''],
      ["URL.canParse(url) ? new URL(url).pathname : ''", 'new URL(url).pathname'],
      ['isOperation || documents', 'documents'],
      ["mimeType: 'text/plain'", 'mimeType: MARKDOWN'],
      ['isOperation || documents.some((it) => it.path === path) ? path', 'path.length > 1 ? path'],
    ],
  },
  'src/api/mcp/parts.ts': {
    tests: ['test/api/mcp.test.ts'],
    faults: [
      ["'x-request-id': request.id, ", ''],
      ["    throw unavailable('the service is stopping', fault)\n", '    throw fault\n'],
      ["name.startsWith('X-')", "name.startsWith('W-')"],
      [", 'Retry-After'", ''],
      [', isError: true }', ' }'],
      ['/v1/docs/guide/errors.md#${code}', '/v1/docs/guide/errors.md'],
      ['return asPartOf(clientOf(request), async () => {', 'return (async () => {'],
    ],
  },
  'src/api/mcp/server.ts': {
    tests: ['test/api/mcp.test.ts'],
    faults: [
      ['clip(name, MAX_SHOWN)', 'name'],
      ['maxSubscriptions: 0', 'maxSubscriptions: 1'],
      ['response === undefined || response.statusCode === 404', 'response === undefined'],
      [".split(';', 1)", ".split(';;', 1)"],
      ['mcp-.*', 'mpc-.*'],
      ['accept|', ''],
      [', cacheHints })', ' })'],
      [
        '      await server.close()\n',
        '',
        'nothing refers to the server after its answer; closing it is what its library asks for',
      ],
      ['{ enableJsonResponse: true }', '{}'],
    ],
  },
  'src/api/routes/mcp.ts': {
    tests: ['test/api/mcp.test.ts'],
    faults: [
      ['    requireOrigin(request.headers.origin)\n', ''],
      [" || origin === 'null'", ''],
      ["origin === 'null' || URL.canParse(origin)", "origin === 'null'"],
      ['{ schema: { body: Message } }, ', ''],
      ['.code(response.status)', '.code(200)'],
      ["reply.header('allow', 'POST')", "reply.header('allow', 'GET')"],
      ["['GET', 'DELETE']", "['GET']"],
      ["      .header('cache-control', 'no-store')\n", ''],
    ],
  },
}
