/** What a run did and found. */
export const createReport = () => ({
  requests: 0,
  comparisons: 0,
  /** Answers by what they were; `kept`: compared, and answered from the cache. */
  answers: { kept: 0, 304: 0, gzip: 0, br: 0, HEAD: 0 },
  /** Requests with a tag; those answered 304; those whose tag's body was what both APIs then answered; and those that had moved on when asked again. */
  conditional: { asked: 0, held: 0, verified: 0, moved: 0 },
  chain: { checked: 0, gone: 0 },
  /** Pairs that differed and then agreed: what explained the first difference, and the longest time until they agreed. */
  explained: { place: 0, silent: 0, longestMs: 0 },
  /** Samples of those whose answers named the same place; bounded. */
  silent: [] as string[],
  unexplained: [] as string[],
})

export type Report = ReturnType<typeof createReport>

const MOST = 50
const SHOWN = 1_500

const cut = (text: string): string => (text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text)

/** Adds to a list of a report what there is room for. */
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
