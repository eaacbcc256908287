import type { Faults } from '../fault.ts'

const small = ['test/api/plugins/small-plugins.test.ts']

export const pluginFaults: Faults = {
  'src/api/plugins/content-encoding.ts': {
    tests: small,
    faults: [
      ["['', 'identity'].includes", "['identity'].includes"],
      ['.trim().toLowerCase()', '.trim()'],
      ['coding.trim().toLowerCase()', 'coding.toLowerCase()'],
      ['.some((coding)', '.every((coding)'],
      ['slice(0, MAX_SHOWN)', 'slice(0, MAX_SHOWN + 1)'],
      ["    reply.header('accept-encoding', 'identity')\n", ''],
      ['if (route.schema?.body !== undefined) route', 'route'],
      [', status: 415 }', ' }'],
    ],
  },
  'src/api/plugins/headers.ts': {
    tests: small,
    faults: [
      ["    reply.headers(always).header('x-request-id', request.id)\n", '    reply.headers(always)\n'],
      ["  vary: 'accept, accept-encoding',\n", ''],
      ["crossOriginResourcePolicy: { policy: 'cross-origin' }", "crossOriginResourcePolicy: { policy: 'same-origin' }"],
      ['    xXssProtection: false,\n', ''],
      ["    methods: ['GET', 'HEAD', 'POST', 'DELETE'],\n", ''],
      ['maxAge: 86_400', 'maxAge: 8_640'],
      ['strictPreflight: false', 'strictPreflight: true'],
      ['X-Complete-From, X-Transaction', 'X-Complete-From'],
    ],
  },
  'src/api/plugins/timing.ts': {
    tests: small,
    faults: [
      ['      request.timings = timings\n', ''],
      ["    reply.header('server-timing', serverTiming(request.timings, reply.elapsedTime))\n", ''],
      ['serverTiming(request.timings,', 'serverTiming(null,'],
      ["request.span?.end({ route: request.routeOptions.url ?? 'unknown', status: reply.statusCode })", ''],
      ["request.routeOptions.url ?? 'unknown'", 'request.url'],
      ['if (request.span === null) done()\n    else request.span.run(done)', 'done()'],
    ],
  },
  'src/api/plugins/unread.ts': {
    tests: small,
    faults: [
      [" || request.method === 'HEAD') return", ') return'],
      ['!isBody || !isLarge(payload)', '!isBody || isLarge(payload)'],
      ['      refused.unread += 1\n', ''],
      ['      done(noRoom())\n', '      done(null, body)\n'],
      ["typeof payload === 'string' ? bytesOf(payload) : payload", 'Buffer.alloc(payload.length)'],
    ],
  },
  'src/api/plugins/urls.ts': {
    tests: small,
    faults: [
      ["route.url.startsWith('/v1/')", 'true'],
      ["if (route.url.startsWith('/v1/')) route", "if (!route.url.startsWith('/v1/')) route"],
      ['{ querystring: z.object({}), ...route.schema }', '{ ...route.schema, querystring: z.object({}) }'],
      ["if (url.includes('#'))", "if (url.startsWith('#'))"],
      ["url === '*' ? notFound", "url === '**' ? notFound"],
    ],
  },
  'src/api/plugins/errors.ts': {
    tests: ['test/api/plugins/errors.test.ts', 'test/api/errors.test.ts'],
    faults: [
      ['if (status === 500) request', 'if (status >= 500) request'],
      ['else if (status > 500 && !request.raw.socket.destroyed)', 'else if (status > 500)'],
      ["reply.header('cache-control', 'no-store').removeHeader('etag')", "reply.removeHeader('etag')"],
      [".removeHeader('etag').removeHeader('content-encoding')", ".removeHeader('content-encoding')"],
      [".removeHeader('content-encoding')", ''],
      ["[reply.getHeader('link'), helpLink(request.url, body.error.code)]", '[helpLink(request.url, body.error.code)]'],
      ['if (status === 401 && ', 'if (status === 403 && '],
      [" && !reply.hasHeader('www-authenticate')", ''],
      ["if (retryAfter !== undefined) reply.header('retry-after', retryAfter)", ''],
      ["if (status === 413) reply.removeHeader('connection')", ''],
      ["it.startsWith(':') || it === given[at]", 'it === given[at]'],
      ['segments.length === given.length && segments', 'segments'],
      ["if (methods !== '') reply.header('allow', methods)", ''],
      ["methods === '' ? isDocs &&", "methods === '' ?"],
      ["request.url.split('?', 1)[0] ?? ''", 'request.url'],
      ['.sort()\n', '\n'],
      ['  reply.headers(standardHeaders(request.id))\n', ''],
      ["if (error.code === 'ECONNRESET' || socket.destroyed) return", 'if (socket.destroyed) return'],
      ['|| socket.destroyed) return', ') return'],
      ['if (socket.writable) socket.write', 'socket.write'],
      ['  socket.destroy(error)\n', ''],
      ["    connection: 'close',\n", ''],
      ['routeOptions.bodyLimit} bytes', 'routeOptions.bodyLimit + 1} bytes'],
      ['status: 431,', 'status: 400,'],
      ['{ status: 400, message: ', '{ status: 408, message: '],
    ],
  },
}
