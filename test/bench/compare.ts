import autocannon, { type Options } from 'autocannon'

/** A server on loopback and the request to repeat. */
export type Contestant = { readonly name: string; readonly load: Pick<Options, 'url' | 'method' | 'headers' | 'body'> }

export type Figures = {
  /** Median requests per second, by contestant. */
  readonly perSecond: ReadonlyMap<string, number>
  /** Every round's figure, by contestant, in order. */
  readonly rounds: ReadonlyMap<string, readonly number[]>
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN

const CONNECTIONS = 64

/** Requests per second over `seconds`, from a thread of its own. Throws when any answer is not a success. */
const measure = async ({ name, load }: Contestant, seconds: number): Promise<number> => {
  const result = await autocannon({ ...load, connections: CONNECTIONS, duration: seconds, workers: 1 })
  const failed = result.non2xx + result.errors + result.timeouts
  if (failed > 0 || result['2xx'] === 0)
    throw new Error(`${name}: ${failed} of ${result.requests.total} requests failed`)
  return result['2xx'] / result.duration
}

/**
 * Measures contestants in turn, round after round, so that whatever else the machine does meets all of them alike; one round to warm
 * up is not counted.
 */
export const compare = async (
  contestants: readonly Contestant[],
  { rounds, seconds }: { readonly rounds: number; readonly seconds: number },
): Promise<Figures> => {
  const figures = new Map<string, number[]>(contestants.map(({ name }) => [name, []]))
  for (let round = 0; round <= rounds; round += 1) {
    for (const contestant of contestants) {
      const perSecond = await measure(contestant, round === 0 ? 2 : seconds)
      if (round > 0) figures.get(contestant.name)?.push(perSecond)
    }
  }
  return { perSecond: new Map([...figures].map(([name, values]) => [name, median(values)])), rounds: figures }
}
