import { createTurns, type Turn } from '../../lib/turns.ts'

/** Most rows that are handled in one turn of the event loop: it then takes about as long as a page. */
const ROWS_PER_TURN = 150

/** Other requests are handled between two turns of all long reads. */
const turn = createTurns({ restMs: 1 })

/** Creates the turns of one read, which waits for another one whenever the rows that it handles become too many for one. */
export const createRowTurns = (waitForTurn: Turn = turn) => {
  let handled = 0
  /** Counts the rows that are handled next. */
  const wait = async (rows: number): Promise<void> => {
    handled += rows
    if (handled <= ROWS_PER_TURN) return
    await waitForTurn()
    handled = rows
  }
  return {
    wait,
    /** The parts of a list of rows, each in its turn. */
    async *partsOf<T>(rows: readonly T[]): AsyncGenerator<readonly T[], void> {
      for (let first = 0; first < rows.length; first += ROWS_PER_TURN) {
        const part = rows.slice(first, first + ROWS_PER_TURN)
        await wait(part.length)
        yield part
      }
    },
  }
}

export type RowTurns = ReturnType<typeof createRowTurns>
