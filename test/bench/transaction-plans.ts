import { cpus } from 'node:os'
import { z } from 'zod'
import { createAccounts } from '../../src/sandbox/accounts.ts'
import { npmStart, startSandboxProcess } from '../support/sandbox-process.ts'

/*
 * How long a plan takes on the sandbox, one after the other, and how much concurrent plans slow unrelated reads down.
 *
 *   npm run bench:transaction-plans
 */

const PLANS = 300
const AT_ONCE = 300
const READS_MS = 5_000

/** The targets: milliseconds of a plan at the 95th percentile, and the factor by which plans slow reads. */
const targets = { planMs: 60, slowdown: 2 }

const Events = z.object({ data: z.array(z.object({ id: z.number(), chainId: z.number(), poolOpen: z.boolean() })) })

const sandbox = await startSandboxProcess(['--quiet'], {}, npmStart)
const at = (path: string): string => `${sandbox.url}${path}`

const quantile = (sorted: readonly number[], part: number): number => sorted[Math.floor(part * sorted.length)] ?? 0

const timed = async (send: () => Promise<Response>): Promise<number> => {
  const since = performance.now()
  const response = await send()
  const text = await response.text()
  if (!response.ok) throw new Error(`${response.status}: ${text.slice(0, 500)}`)
  return performance.now() - since
}

const figures = (what: string, times: readonly number[]): string => {
  const sorted = times.toSorted((a, b) => a - b)
  const parts = [0.5, 0.95, 0.99].map((part) => `p${100 * part} ${quantile(sorted, part).toFixed(1)} ms`)
  return `${what}: ${times.length} requests, ${parts.join(', ')}`
}

try {
  console.log(`node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}`)
  const { data } = Events.parse(await (await fetch(at('/v1/hedge/events?state=open&chainId=8453&limit=200'))).json())
  const event = data.find(({ poolOpen }) => poolOpen)
  const [wallet] = createAccounts().users
  if (event === undefined || wallet === undefined) throw new Error('the sandbox has no open event')
  const { chainId, id: eventId } = event
  const body = JSON.stringify({ chainId, from: wallet.account.address, eventId, notional: '20000000' })
  const plan = () =>
    fetch(at('/v1/plans/buy-protection'), { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const read = () => fetch(at(`/v1/hedge/events/${chainId}/${eventId}/stats`))

  for (let warm = 0; warm < 50; warm += 1) {
    await timed(plan)
    await timed(read)
  }
  const planTimes: number[] = []
  for (let nth = 0; nth < PLANS; nth += 1) planTimes.push(await timed(plan))
  console.log(figures('plans, one after the other', planTimes))

  const readFor = async (isOver: () => boolean): Promise<number[]> => {
    const times: number[] = []
    while (!isOver()) times.push(await timed(read))
    return times
  }
  const end = performance.now() + READS_MS
  const alone = await readFor(() => performance.now() > end)
  console.log(figures('reads alone', alone))

  let left = AT_ONCE
  const burst = Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      const ms = await timed(plan)
      left -= 1
      return ms
    }),
  )
  const [among, burstTimes] = await Promise.all([readFor(() => left === 0), burst])
  console.log(figures(`plans, ${AT_ONCE} at once`, burstTimes))
  console.log(figures('reads meanwhile', among))

  const p95 = quantile(
    planTimes.toSorted((a, b) => a - b),
    0.95,
  )
  const p95Of = (times: readonly number[]): number =>
    quantile(
      times.toSorted((a, b) => a - b),
      0.95,
    )
  const medianOf = (times: readonly number[]): number =>
    quantile(
      times.toSorted((a, b) => a - b),
      0.5,
    )
  const verdict = (isMet: boolean): string => (isMet ? 'met' : 'missed')
  console.log(
    `target: p95 of a plan below ${targets.planMs} ms: ${p95.toFixed(1)} ms, ${verdict(p95 < targets.planMs)}`,
  )
  for (const [name, of] of [
    ['median', medianOf],
    ['p95', p95Of],
  ] as const) {
    const slowdown = of(among) / of(alone)
    const what = `target: the ${name} of a read at most ${targets.slowdown} times as long`
    console.log(`${what}: ${slowdown.toFixed(2)}, ${verdict(slowdown <= targets.slowdown)}`)
  }
} finally {
  await sandbox.stop('SIGTERM')
}
