/** The counts and findings of a run. */
export const createReport = () => ({
  requests: 0,
  comparisons: 0,
  /** Answers by kind; `kept`: compared, and answered from the cache. */
  answers: { kept: 0, 304: 0, gzip: 0, br: 0, HEAD: 0 },
  /**
   * Requests with a tag; those with a 304; those whose tag still had the body of both APIs; and those that had changed
   * when repeated.
   */
  conditional: { asked: 0, held: 0, verified: 0, moved: 0 },
  chain: { checked: 0, gone: 0 },
  /**
   * Pairs that differed and then agreed: the reason of the first difference, and the longest time until they agreed.
   */
  explained: { place: 0, silent: 0, longestMs: 0 },
  /** Samples of pairs whose answers had the same block. Bounded. */
  silent: [] as string[],
  unexplained: [] as string[],
})

export type Report = ReturnType<typeof createReport>

const MOST = 50
const SHOWN = 1_500

const cut = (text: string): string => (text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text)

/** Adds to a list of a report up to its limit. */
export const note = (list: string[], ...lines: readonly string[]): void => {
  if (list.length < MOST) list.push(lines.map(cut).join('\n    '))
}

/** The part of two texts where they begin to differ. */
export const around = (one: string, other: string): readonly [string, string] => {
  let at = 0
  while (at < one.length && one[at] === other[at]) at += 1
  const from = Math.max(0, at - 100)
  return [one.slice(from, at + 200), other.slice(from, at + 200)]
}

/** The fewest comparisons of a run. */
const FEWEST = 21

/** Whether bodies and 304 of the cache were compared often, tags checked, and records compared with the chain. */
export const isComplete = ({ comparisons, answers, conditional, chain }: Report): boolean =>
  comparisons >= FEWEST && [answers.kept, answers[304], conditional.verified, chain.checked].every((times) => times > 0)
