import {
  createMcpHandler,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { clip } from '../../lib/errors.ts'
import { release } from '../../lib/root.ts'
import { info } from '../openapi/texts.ts'
import { takenOf } from './message.ts'
import { callTool, originOf, sendPart } from './parts.ts'
import { documentAt, documents, MARKDOWN, OPERATION_PAGE } from './resources.ts'
import { toolsOf } from './tools.ts'

const identity = { name: 'fx-protection-api', title: info.title, version: release }

const instructions = [
  info.description,
  'Each tool is an operation of the API, and returns its response. Tools that begin with `plan` return the transactions of an action,',
  'simulated and unsigned: a wallet signs and sends them. `at` reads the state at a past block or time. The resources are the guide,',
  'and a page for each operation with the meaning of the fields of its response.',
].join('\n')

/** How long clients may reuse lists and documents, which change with a release only. */
const cacheHint = { ttlMs: 60_000, cacheScope: 'public' } as const
const cacheHints = {
  ...{ 'server/discover': cacheHint, 'tools/list': cacheHint, 'resources/list': cacheHint },
  ...{ 'resources/templates/list': cacheHint, 'resources/read': cacheHint },
}

/** The headers of a message. */
const OWN_HEADER = /^(?:accept|content-type|mcp-.*)$/

/** Most characters of a name or URL in an error. */
const MAX_SHOWN = 200

/** Makes the function that answers messages. All routes have to be mounted. It keeps nothing of a message. */
export const createMcp = (app: FastifyInstance) => {
  const tools = toolsOf(app.describe())
  const listed = [...tools.values()].map(({ requestOf: _, ...tool }) => tool)

  const read = async (request: FastifyRequest, uri: string) => {
    const url = documentAt(uri)
    const response = url === undefined ? undefined : await sendPart(app, request, { method: 'GET', url })
    if (response === undefined || response.statusCode === 404) throw new ResourceNotFoundError(clip(uri, MAX_SHOWN))
    if (response.statusCode !== 200) throw new ProtocolError(ProtocolErrorCode.InternalError, response.payload)
    const [mimeType = ''] = String(response.headers['content-type']).split(';', 1)
    return { contents: [{ uri, mimeType, text: response.payload }] }
  }

  /** Makes the server of one message. */
  const serverOf = (request: FastifyRequest): Server => {
    const server = new Server(identity, { instructions, capabilities: { tools: {}, resources: {} }, cacheHints })
    server.setRequestHandler('tools/list', () => ({ tools: listed }))
    server.setRequestHandler('tools/call', ({ params: { name, arguments: given = {} } }) => {
      const tool = tools.get(name)
      if (tool === undefined)
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `unknown tool ${clip(name, MAX_SHOWN)}`)
      return callTool(app, request, tool, given)
    })
    server.setRequestHandler('resources/list', () => ({
      resources: documents.map(({ path, ...it }) => ({ ...it, uri: originOf(request) + path })),
    }))
    server.setRequestHandler('resources/templates/list', () => ({
      resourceTemplates: [
        {
          ...{ uriTemplate: originOf(request) + OPERATION_PAGE, name: 'operation', title: 'Operations' },
          ...{ description: 'An operation: parameters, fields of its response, example, errors', mimeType: MARKDOWN },
        },
      ],
    }))
    server.setRequestHandler('resources/read', ({ params: { uri } }) => read(request, uri))
    return server
  }

  return async (request: FastifyRequest): Promise<Response> => {
    const { headers, body, method } = request
    const parsedBody = takenOf(Object(body))
    const own = Object.entries(headers).flatMap(([name, value]) =>
      OWN_HEADER.test(name) ? [[name, String(value)] as [string, string]] : [],
    )
    const message = new Request(`http://${identity.name}/mcp`, { method, headers: own })
    if (!(await isLegacyRequest(message, parsedBody))) {
      // A subscription would be a stream, and nothing that it could report changes.
      const { fetch } = createMcpHandler(() => serverOf(request), { legacy: 'reject', maxSubscriptions: 0 })
      return fetch(message, { parsedBody })
    }
    // The handler would answer older revisions with a stream of one event, which is not compressed.
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
    const server = serverOf(request)
    await server.connect(transport)
    try {
      return await transport.handleRequest(message, { parsedBody })
    } finally {
      await server.close()
    }
  }
}
