import type { FastifyInstance, FastifyRequest, InjectOptions, LightMyRequestResponse } from 'fastify'
import { unavailable } from '../../lib/errors.ts'
import { problem } from '../../lib/http/problem.ts'
import { asPartOf, clientOf } from '../client.ts'
import { listHeaderNames } from '../operation.ts'
import type { Tool } from './tools.ts'

/* What a message asks for is a request of this process to the API, sent as part of the request of its client. */

/** The address of the service as a client sees it. */
export const originOf = ({ protocol, host }: FastifyRequest): string => `${protocol}://${host}`

type Part = Pick<InjectOptions, 'payload' | 'headers'> & { readonly method: 'GET' | 'POST'; readonly url: string }

/** Sends a part. Throws `service_unavailable` while the service stops. */
export const sendPart = async (
  app: FastifyInstance,
  request: FastifyRequest,
  part: Part,
): Promise<LightMyRequestResponse> => {
  const { traceparent } = request.headers
  const headers = {
    ...{ accept: 'application/json', 'x-request-id': request.id, ...part.headers },
    ...(traceparent !== undefined && { traceparent }),
  }
  return asPartOf(clientOf(request), async () => {
    try {
      return await app.inject({ ...part, headers, remoteAddress: request.ip })
    } catch (fault) {
      throw unavailable('the service is stopping', fault)
    }
  })
}

/** The headers that a reader of a response needs: what it is as of, how fresh it is, and when to try again. */
const shownHeaders = [...listHeaderNames.filter((name) => name.startsWith('X-')), 'Retry-After']

const notesOf = (headers: LightMyRequestResponse['headers']): string[] =>
  shownHeaders.flatMap((name) => {
    const value = headers[name.toLowerCase()]
    return value === undefined ? [] : [`${name}: ${value}`]
  })

/** The text of a response, then its notes. */
type Called = { readonly content: { readonly type: 'text'; readonly text: string }[]; readonly isError?: true }

const calledOf = (body: string, notes: readonly string[]): Called => ({
  content: [body, ...(notes.length === 0 ? [] : [notes.join('\n')])].map((text) => ({ type: 'text', text })),
})

/** Calls a tool: the response of its operation, also when that is an error. */
export const callTool = async (
  app: FastifyInstance,
  request: FastifyRequest,
  tool: Tool,
  given: Readonly<Record<string, unknown>>,
): Promise<Called> => {
  const failed = (body: string, code: string, notes: readonly string[] = []): Called => {
    const help = `Documentation: ${originOf(request)}/v1/docs/guide/errors.md#${code}`
    return { ...calledOf(body, [...notes, help]), isError: true }
  }
  try {
    const { statusCode, headers, payload } = await sendPart(app, request, tool.requestOf(given))
    if (statusCode < 400) return calledOf(payload, notesOf(headers))
    return failed(payload, JSON.parse(payload).error.code, notesOf(headers))
  } catch (fault) {
    const { status, body } = problem(fault, request.id)
    if (status === 500) request.log.error({ err: fault }, 'request failed')
    return failed(JSON.stringify(body), body.error.code)
  }
}
