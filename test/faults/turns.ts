/** Mining and calls exclude each other. Each waits for those before it only, so none keeps another one waiting for long. */
export const createTurns = () => {
  let mined: Promise<unknown> = Promise.resolve()
  const asking = new Set<Promise<unknown>>()
  return {
    /** Mines once the miners before it are done and the calls before it have their answer. */
    mine<T>(work: () => Promise<T>): Promise<T> {
      const mining = Promise.allSettled([mined, ...asking]).then(work)
      mined = mining.catch(() => {})
      return mining
    },
    /** Runs a call once the miners before it are done. */
    async ask<T>(work: () => Promise<T>): Promise<T> {
      const answer = mined.then(work)
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
