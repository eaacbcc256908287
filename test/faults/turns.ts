/** Who mines and who asks take turns: never both at once, and nobody who asks goes before a miner who waits. */
export const createTurns = () => {
  let mined: Promise<unknown> = Promise.resolve()
  const asking = new Set<Promise<unknown>>()
  return {
    /** Mines once all who ask have their answer, one after the other. */
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
    /** Asks once nobody mines or waits to. */
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
