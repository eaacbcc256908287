import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { z } from 'zod'
import { createAccounts } from '../../src/sandbox/story/accounts.ts'
import { npmStart, startSandboxProcess } from '../support/sandbox-process.ts'

/*
 * How long a plan takes on the sandbox, how much processor time it takes of the API's main thread, and how much
 * concurrent plans slow unrelated reads down. Processor time depends less than the others on what else the machine does.
 *
 *   npm run bench:transaction-plans
 */

const PLANS = 300
const AT_ONCE = 300
const READS_MS = 5_000

/** The targets: milliseconds of a plan at the 95th percentile, and the factor by which plans slow reads. */
const targets = { planMs: 60, slowdown: 2 }
const PARTS = { median: 0.5, p95: 0.95 } as const

const Events = z.object({ data: z.array(z.object({ id: z.number(), chainId: z.number(), poolOpen: z.boolean() })) })

const sandbox = await startSandboxProcess(['--quiet'], {}, npmStart)
const at = (path: string): string => `${sandbox.url}${path}`

const quantile = (times: readonly number[], part: number): number =>
  times.toSorted((a, b) => a - b)[Math.floor(part * times.length)] ?? 0

/** Processor time of a process's main thread so far, in milliseconds. */
const processorMs = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'latin1').split(' ')[0]) / 1e6

const timed = async (send: () => Promise<Response>): Promise<number> => {
  const since = performance.now()
  const response = await send()
  const text = await response.text()
  if (!response.ok) throw new Error(`${response.status}: ${text.slice(0, 500)}`)
  return performance.now() - since
}

const figures = (what: string, times: readonly number[]): string => {
  const parts = [0.5, 0.95, 0.99].map((part) => `p${100 * part} ${quantile(times, part).toFixed(1)} ms`)
  return `${what}: ${times.length} requests, ${parts.join(', ')}`
}

try {
  console.log(`node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}`)
  const { data } = Events.parse(await (await fetch(at('/v1/hedge/events?state=open&chainId=8453&limit=200'))).json())
  const event = data.find(({ poolOpen }) => poolOpen)
  const [wallet] = createAccounts().users
  if (event === undefined || wallet === undefined) throw new Error('the sandbox has no open event')
  const { chainId, id: eventId } = event
  const [api] = sandbox.children(/cli\.js api/)
  if (api === undefined) throw new Error('the sandbox has no API process')
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

  const atOnce = (): Promise<number[]> => Promise.all(Array.from({ length: AT_ONCE }, () => timed(plan)))
  const [before, since] = [processorMs(api), performance.now()]
  await atOnce()
  const [each, seconds] = [(processorMs(api) - before) / AT_ONCE, (performance.now() - since) / 1_000]
  console.log(`plans, ${AT_ONCE} at once: ${seconds.toFixed(1)} s, ${each.toFixed(2)} ms of processor time each`)

  const readFor = async (isOver: () => boolean): Promise<number[]> => {
    const times: number[] = []
    while (!isOver()) times.push(await timed(read))
    return times
  }
  const end = performance.now() + READS_MS
  const alone = await readFor(() => performance.now() > end)
  console.log(figures('reads alone', alone))

  let isOver = false
  const burst = atOnce().finally(() => (isOver = true))
  const [among, burstTimes] = await Promise.all([readFor(() => isOver), burst])
  console.log(figures(`plans, ${AT_ONCE} at once`, burstTimes))
  console.log(figures('reads meanwhile', among))

  const p95 = quantile(planTimes, PARTS.p95)
  const verdict = (isMet: boolean): string => (isMet ? 'met' : 'missed')
  console.log(
    `target: p95 of a plan below ${targets.planMs} ms: ${p95.toFixed(1)} ms, ${verdict(p95 < targets.planMs)}`,
  )
  for (const [name, part] of Object.entries(PARTS)) {
    const slowdown = quantile(among, part) / quantile(alone, part)
    const what = `target: the ${name} of a read at most ${targets.slowdown} times as long`
    console.log(`${what}: ${slowdown.toFixed(2)}, ${verdict(slowdown <= targets.slowdown)}`)
  }
} finally {
  await sandbox.stop('SIGTERM')
}
