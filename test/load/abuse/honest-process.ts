import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { json, pick } from './attack-series.ts'
import { HonestOrders, type HonestSample, Phase } from './messages.ts'

/*
 * The honest caller, in a process of its own: one request at a time, with a pause between two. The session forks it and
 * sends it its orders, and then one message for each phase, which it answers with the samples of the phase.
 */

const PAUSE_MS = 20
const TIMEOUT_MS = 20_000
/** The first pause of an endpoint takes 250 ms. */
const STATUS_EVERY_MS = 200

/** The addresses that a proxy in front of the API reports: of the caller, and of the operator who reads `/status`. */
const ADDRESS = '198.51.100.7'
const OPERATOR = '198.51.100.8'

type Question = { readonly kind: string; readonly path: string; readonly body?: object }

const agent = new Agent({ keepAlive: true })

const ask = ({ url }: HonestOrders, { path, body }: Omit<Question, 'kind'>, address: string) =>
  new Promise<{ status: number; isStale: boolean; text: string }>((resolve) => {
    const content = body === undefined ? undefined : JSON.stringify(body)
    const fail = (text: string) => () => resolve({ status: 0, isStale: false, text })
    const asked = request(url, {
      ...{ agent, path, method: body === undefined ? 'GET' : 'POST', timeout: TIMEOUT_MS },
      headers: {
        'x-forwarded-for': address,
        ...(content !== undefined && { ...json, 'content-length': Buffer.byteLength(content) }),
      },
    })
    asked.once('response', async (response) => {
      let text = ''
      try {
        for await (const chunk of response.setEncoding('utf8')) text += chunk
        resolve({ status: response.statusCode ?? 0, isStale: response.headers['x-stale'] !== undefined, text })
      } catch {
        fail('the answer broke off')()
      }
    })
    asked.once('timeout', () => asked.destroy()).once('error', fail('no answer'))
    asked.end(content)
  })

/** The questions of a turn: no two of the same kind in a row are answered from the response cache. */
const questionsOf = ({ chainId, wallets, events }: HonestOrders, turn: number): Question => {
  const [wallet, event] = [pick(wallets, turn * 7), pick(events, turn)]
  const amount = String(10_000_000 + turn)
  return pick(
    [
      { kind: 'list', path: `/v1/hedge/positions?chainId=${chainId}&limit=20&wallet=${wallet}&_=${turn}` },
      { kind: 'record', path: `/v1/hedge/events/${chainId}/${event}` },
      { kind: 'portfolio', path: `/v1/wallets/${wallet}/portfolio` },
      {
        kind: 'plan',
        path: '/v1/plans/buy-protection',
        body: { chainId, from: wallet, eventId: event, notional: amount },
      },
      { kind: '/livez', path: '/livez' },
    ],
    turn,
  )
}

const Planned = z.object({ data: z.object({ executable: z.boolean() }) })

/** What is wrong with an answer; null when nothing is. */
const faultOf = (kind: string, { status, text }: { readonly status: number; readonly text: string }): string | null => {
  if (status !== 200) return `${kind}: ${status} ${text.slice(0, 200)}`
  if (kind !== 'plan') return null
  const { success, data } = Planned.safeParse(JSON.parse(text))
  return success && data.data.executable ? null : `plan that is not executable: ${text.slice(0, 400)}`
}

const Status = z.object({
  data: z.object({
    chains: z.array(
      z.object({
        chainId: z.number(),
        endpoints: z.record(z.string(), z.array(z.object({ rank: z.string() }))),
      }),
    ),
  }),
})

/** The paused and penalized endpoints of the attacked chain. */
const pausedOf = (text: string, chainId: number): string[] => {
  const { data } = Status.parse(JSON.parse(text))
  const chain = data.chains.find((it) => it.chainId === chainId)
  return Object.entries(chain?.endpoints ?? {}).flatMap(([process, list]) =>
    list.filter(({ rank }) => ['paused', 'penalized'].includes(rank)).map(({ rank }) => `${process}: ${rank}`),
  )
}

process.once('disconnect', () => process.exit(0))
const orders = HonestOrders.parse((await once(process, 'message'))[0])
let turn = 0

const watchEndpoints = async (until: number): Promise<string[]> => {
  const paused = new Set<string>()
  for (; performance.now() < until; await sleep(STATUS_EVERY_MS)) {
    const { status, text } = await ask(orders, { path: '/status' }, OPERATOR)
    if (status === 200) for (const each of pausedOf(text, orders.chainId)) paused.add(each)
  }
  return [...paused]
}

process.on('message', async (message) => {
  const until = performance.now() + Phase.parse(message).ms
  const watching = watchEndpoints(until)
  const samples: HonestSample[] = []
  for (; performance.now() < until; await sleep(PAUSE_MS)) {
    const question = questionsOf(orders, turn)
    turn += 1
    const began = performance.now()
    const answer = await ask(orders, question, ADDRESS)
    const { kind } = question
    samples.push({ kind, ms: performance.now() - began, isStale: answer.isStale, fault: faultOf(kind, answer) })
  }
  process.send?.({ samples, paused: await watching })
})
process.send?.('ready')
