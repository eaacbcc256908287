import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { z } from 'zod'

/** A server of this process and the request to repeat: a POST of a body, or a GET that perhaps names the tag it has, and is 304 then. */
export type Contestant = { readonly url: string; readonly body?: object; readonly tag?: string }

/**
 * Requests per second, and per second of processor time this process spent on them: the second does not change with what else the
 * machine is doing.
 */
export type Figure = { readonly perSecond: number; readonly perCpuSecond: number }

const CONNECTIONS = 64
const WARM_UP_SECONDS = 2

const run = promisify(execFile)
const autocannon = createRequire(import.meta.url).resolve('autocannon')
const Result = z.object({
  '2xx': z.int(),
  '3xx': z.int(),
  '4xx': z.literal(0),
  '5xx': z.literal(0),
  errors: z.literal(0),
  timeouts: z.literal(0),
  duration: z.number().positive(),
})

/** Loads one contestant from a process of its own. Throws when any answer is not the one asked for. */
const measure = async ({ url, body, tag }: Contestant, seconds: number): Promise<Figure> => {
  const load = ['-j', '-c', String(CONNECTIONS), '-d', String(seconds)]
  const post = ['-m', 'POST', '-H', 'content-type=application/json', '-b', JSON.stringify(body)]
  const get = tag === undefined ? [] : ['-H', `if-none-match=${tag}`]
  const before = process.cpuUsage()
  const { stdout } = await run(process.execPath, [autocannon, ...load, ...(body === undefined ? get : post), url])
  const { user, system } = process.cpuUsage(before)
  const result = Result.parse(JSON.parse(stdout))
  const [wanted, other] = tag === undefined ? (['2xx', '3xx'] as const) : (['3xx', '2xx'] as const)
  const answers = result[wanted]
  if (answers === 0 || result[other] > 0)
    throw new Error(`${url}: ${answers} answers as asked for, ${result[other]} others`)
  return { perSecond: answers / result.duration, perCpuSecond: (answers * 1e6) / (user + system) }
}

/** The upper median; NaN of none. */
export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN

/**
 * Measures contestants in turn, round after round, so that whatever else the machine does meets all of them alike, and gives the
 * medians in their order. A first round to warm up is not counted.
 */
export const compare = async (
  contestants: readonly Contestant[],
  { rounds, seconds }: { readonly rounds: number; readonly seconds: number },
): Promise<readonly Figure[]> => {
  for (const contestant of contestants) await measure(contestant, WARM_UP_SECONDS)
  const figures = contestants.map((): Figure[] => [])
  for (let round = 0; round < rounds; round += 1) {
    for (const [at, contestant] of contestants.entries()) figures[at]?.push(await measure(contestant, seconds))
  }
  return figures.map((all) => ({
    perSecond: median(all.map(({ perSecond }) => perSecond)),
    perCpuSecond: median(all.map(({ perCpuSecond }) => perCpuSecond)),
  }))
}
