import { operationId } from '../../src/api/openapi/operation-id.ts'
import type { Recorded } from '../../src/api/openapi/recorded.ts'
import { normalised } from './normalised.ts'
import { type Request, requestsOf } from './requests.ts'
import type { Story } from './story.ts'

const text = (values: Request['query']): Record<string, string> =>
  Object.fromEntries(Object.entries(values ?? {}).map(([name, value]) => [name, String(value)]))

/** Reads a stream of a listening app until nothing more arrives for a moment. */
const readStream = async (app: Story['app'], url: string): Promise<string> => {
  const origin = app.addresses().length > 0 ? app.listeningOrigin : await app.listen({ host: '127.0.0.1', port: 0 })
  const stop = new AbortController()
  const response = await fetch(`${origin}${url}`, { signal: stop.signal })
  let received = ''
  const decoder = new TextDecoder()
  for await (const part of response.body ?? []) {
    received += decoder.decode(part, { stream: true })
    // The items of the past include event 2.
    if (received.includes('"eventId":2')) break
  }
  stop.abort()
  return received
}

/** Sends the request of every operation to the API of a story. Throws for an answer that is not a success. */
export const record = async (story: Story): Promise<Record<string, Recorded>> => {
  const requests = requestsOf(story)
  const recorded: Record<string, Recorded> = {}
  for (const { method, url, config } of story.routes) {
    const operation = config?.operation
    if (operation === undefined || method === 'HEAD') continue
    const id = operation.id ?? operationId(String(method), url)
    const request = requests[id]
    if (request === undefined) throw new Error(`the story has no request of ${id}`)
    const { path, query, body } = request
    const filled = Object.entries(text(path)).reduce((it, [name, value]) => it.replace(`:${name}`, value), url)
    const search = new URLSearchParams(text(query)).toString()
    const target = search === '' ? filled : `${filled}?${search}`
    if (operation.stream === true) {
      recorded[id] = { ...request, stream: await readStream(story.app, target) }
      continue
    }
    const send = () =>
      story.app.inject({
        method: method as 'GET' | 'POST' | 'DELETE',
        url: target,
        headers: {
          ...(operation.bearer === true && { authorization: story.authorization }),
          ...(operation.apiKey === true && { 'x-api-key': story.apiKey }),
        },
        ...(body && { payload: body }),
      })
    let answer = id === 'postTxBroadcast' ? story.broadcast : await send()
    // A backtest waits for the calibration of its pair.
    while (id === 'postPricingBacktest' && answer.statusCode === 503) answer = await send()
    const { statusCode, payload } = answer
    if (statusCode !== 200) throw new Error(`${id} answered ${statusCode}: ${payload}`)
    const response: unknown = JSON.parse(payload)
    recorded[id] = { ...request, response }
  }
  return normalised(recorded)
}
