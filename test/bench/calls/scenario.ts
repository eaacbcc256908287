import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { z } from 'zod'
import { errorText } from '../../../src/lib/errors.ts'
import { sleep } from '../../../src/lib/lifecycle.ts'
import type { Latencies } from './figures.ts'
import type { Made, Trader } from './trader.ts'

/* What clients do. Their requests to the service go to its API processes; transactions go to the node directly. */

const HEALTH_EVERY_MS = 5_000
const TRADE_EVERY_MS = 5_000
const READ_EVERY_MS = 1_000
const MIN_BLOCK_EVERY_MS = 10_000
const QUOTE_EVERY_MS = 10_000

/** The pause between two transactions of the quiet phase. */
const QUIET_TRADE_EVERY_MS = 3_000

/** Varies a pause around its average, so that transactions meet every part of the service's polls. */
const around = (ms: number): number => ms * (0.75 + Math.random() / 2)

/** How often a client that does not wait requests a list or record again, and for how long. */
const AGAIN_MS = 50
const GIVE_UP_MS = 20_000

/** The busy phase in words. */
export const describeScenario = (): string =>
  `per chain: a purchase or deposit each ${TRADE_EVERY_MS / 1_000} s on average, then its list with afterTx at one API and polls of it at the other; an event and a portfolio each ${READ_EVERY_MS / 1_000} s; a stream of settlements; a read with minBlock each ${MIN_BLOCK_EVERY_MS / 1_000} s; a quote each ${QUOTE_EVERY_MS / 1_000} s`

const Rows = z.object({ data: z.array(z.object({ createdTx: z.string().nullable() })) })

export type Client = {
  readonly urls: readonly string[]
  readonly trader: Trader
  readonly latencies: Latencies
  readonly fail: (what: string) => void
  readonly signal: AbortSignal
}

/** Runs `work` at once and again after each pause until the signal aborts. A failure is recorded and ends nothing. */
const repeat = async (
  { signal, fail }: Pick<Client, 'signal' | 'fail'>,
  pause: () => number,
  work: (nth: number) => Promise<void>,
): Promise<void> => {
  for (let nth = 0; !signal.aborted; nth += 1) {
    const due = performance.now() + pause()
    await work(nth).catch((fault: unknown) => signal.aborted || fail(errorText(fault)))
    await sleep(Math.max(0, due - performance.now()), signal)
  }
}

const request = async (url: string, body?: object): Promise<{ status: number; text: string }> => {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(url, body && { method: 'POST', headers, body: JSON.stringify(body) })
  return { status: answer.status, text: await answer.text() }
}

/** Throws for any status but 200. */
const read = async (url: string, body?: object): Promise<string> => {
  const { status, text } = await request(url, body)
  if (status !== 200) throw new Error(`${status} of ${url}: ${text.slice(0, 200)}`)
  return text
}

const hasRow = (text: string, { hash }: Made): boolean =>
  Rows.parse(JSON.parse(text)).data.some(({ createdTx }) => createdTx === hash)

const listOf = (url: string, { chain }: Trader, { list, wallet }: Made): string =>
  `${url}/v1/hedge/${list}?chainId=${chain.chainId}&wallet=${wallet}&limit=5`

/** Milliseconds from the receipt until `shows`. */
const until = async (made: Made, what: string, shows: () => Promise<boolean>): Promise<number> => {
  while (!(await shows())) {
    if (performance.now() - made.minedAt > GIVE_UP_MS) throw new Error(`${what}: not within ${GIVE_UP_MS} ms`)
    await sleep(AGAIN_MS)
  }
  return performance.now() - made.minedAt
}

/** Polls a list without a wait until it has the row. */
const pollList = (url: string, trader: Trader, made: Made): Promise<number> => {
  const path = listOf(url, trader, made)
  return until(made, path, async () => hasRow(await read(path), made))
}

/** Polls a single record without a wait. */
const pollRecord = (url: string, { chain }: Trader, made: Made): Promise<number> => {
  const path = `${url}/v1/hedge/${made.list}/${chain.chainId}/${made.id}`
  return until(made, path, async () => (await request(path)).status === 200)
}

/** An orchestrator's health checks. */
export const checkHealth = ({ urls, ...rest }: Pick<Client, 'urls' | 'signal' | 'fail'>): Promise<void> =>
  repeat(
    rest,
    () => HEALTH_EVERY_MS,
    async () => {
      await Promise.all(urls.map((url) => read(`${url}/readyz`)))
    },
  )

const openStream = async (url: string, chainId: number): Promise<() => void> => {
  const asked = get(`${url}/v1/hedge/settlements/stream?since=now&chainId=${chainId}`)
  asked.on('error', () => {})
  const [response]: IncomingMessage[] = await once(asked, 'response')
  if (response?.statusCode !== 200) throw new Error(`${response?.statusCode} of the stream of settlements`)
  response.on('error', () => {}).resume()
  return () => asked.destroy()
}

/** The busy phase on one chain. */
export const runBusy = async (client: Client): Promise<void> => {
  const { urls, trader, latencies } = client
  const [first = '', second = ''] = urls
  const { chainId, diamond } = trader.chain
  const at = (nth: number): string => urls[nth % urls.length] ?? first
  const closeStream = await openStream(first, chainId)

  const trade = async (nth: number): Promise<void> => {
    const made = await trader.trade()
    const [own, other] = nth % 2 === 0 ? [first, second] : [second, first]
    const waited = async (): Promise<void> => {
      const path = `${listOf(own, trader, made)}&afterTx=${made.hash}&waitMs=10000`
      if (!hasRow(await read(path), made)) throw new Error(`${path} has no row of the transaction`)
      latencies.waited.push(performance.now() - made.minedAt)
    }
    const polled = async (): Promise<void> => void latencies.polled.push(await pollList(other, trader, made))
    await Promise.all([waited(), polled()])
  }
  const reads = async (nth: number): Promise<void> => {
    await read(`${at(nth)}/v1/hedge/events/${chainId}/${trader.eventId()}`)
    await read(`${at(nth)}/v1/wallets/${trader.wallets.hedger}/portfolio?chainId=${chainId}`)
  }
  const minBlock = async (nth: number): Promise<void> => {
    const block = await trader.height()
    await read(`${at(nth)}/v1/hedge/events?chainId=${chainId}&limit=5&minBlock=${block}&waitMs=10000`)
  }
  const quote = async (nth: number): Promise<void> => {
    const expiryUnixSeconds = Math.floor(Date.now() / 1_000) + 90 * 86_400
    await read(`${at(nth)}/v1/pricing/quote`, {
      ...{ pair: 'EUR/USD', strike: 1.065, payoutCap: 1.02, strikeAbove: false, expiryUnixSeconds, notional: 10_000 },
      ...{ chainId, diamondAddress: diamond, creator: trader.wallets.provider },
    })
  }
  try {
    await Promise.all([
      repeat(client, () => around(TRADE_EVERY_MS), trade),
      repeat(client, () => READ_EVERY_MS, reads),
      repeat(client, () => MIN_BLOCK_EVERY_MS, minBlock),
      repeat(client, () => QUOTE_EVERY_MS, quote),
    ])
  } finally {
    closeStream()
  }
}

/** Transactions while nothing else gives the service a reason to poll fast. */
export const runQuiet = (client: Client): Promise<void> => {
  const { urls, trader, latencies } = client
  const [first = '', second = ''] = urls
  const trade = async (): Promise<void> => {
    const made = await trader.trade()
    const list = async (): Promise<void> => void latencies.polledQuiet.push(await pollList(second, trader, made))
    const record = async (): Promise<void> => void latencies.single.push(await pollRecord(first, trader, made))
    await Promise.all([list(), record()])
  }
  return repeat(client, () => around(QUIET_TRADE_EVERY_MS), trade)
}
