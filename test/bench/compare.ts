import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { z } from 'zod'

/** A server of this process and the request to repeat: a POST of a body, or a GET, which is a 304 if it sends a tag. */
export type Contestant = { readonly url: string; readonly body?: object; readonly tag?: string }

/**
 * Requests per second, and per second of this process's processor time. The second figure does not depend on other load
 * of the machine.
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

/** Loads one contestant from a separate process. Throws if any answer has an unexpected status. */
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

/** The upper median; NaN for an empty list. */
export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN

/**
 * Measures contestants in turn, round after round, so that other load of the machine affects all of them alike. Returns
 * their medians in order. The first round warms up and is not counted.
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
