import { openStudy } from './observe.ts'
import { createResults, type Results } from './results.ts'

/** What a run covers: pairs `BASE/QUOTE`, horizons in days, and the years of the quotes, both included. */
export type Scope = {
  readonly pairs: readonly string[]
  readonly horizons: readonly number[]
  readonly firstYear: number
  readonly lastYear: number
}

/** Runs the study; `progress` is called after each date. */
export const runStudy = async (
  { pairs, horizons, firstYear, lastYear }: Scope,
  progress: (done: number, of: number, date: string) => void = () => {},
): Promise<Results> => {
  const study = await openStudy()
  const dates = study.datesOf(firstYear, lastYear)
  const { add, results } = createResults()
  for (const [index, date] of dates.entries()) {
    for (const observation of await study.observe(date, pairs, horizons)) add(observation)
    progress(index + 1, dates.length, date)
  }
  return results(study)
}
