/** Mining and calls exclude each other, and a call waits behind a miner that already waits. */
export const createTurns = () => {
  let mined: Promise<unknown> = Promise.resolve()
  const asking = new Set<Promise<unknown>>()
  return {
    /** Mines once all calls have their answer, one miner after the other. */
    mine<T>(work: () => Promise<T>): Promise<T> {
      const before = mined
      const mining = (async () => {
        await before
        await Promise.allSettled(asking)
        return work()
      })()
      mined = mining.catch(() => {})
      return mining
    },
    /** Runs a call once no miner is active or waiting. */
    async ask<T>(work: () => Promise<T>): Promise<T> {
      for (let last: unknown; last !== mined; ) {
        last = mined
        await mined
      }
      const answer = work()
      asking.add(answer)
      try {
        return await answer
      } finally {
        asking.delete(answer)
      }
    },
  }
}

export type Turns = ReturnType<typeof createTurns>
