/** How an endpoint takes many view calls as one. */
export type Merging = {
  /** Through the contract that most chains have, or by code that travels with the call. */
  readonly by: 'contract' | 'code'
  /** Bytes of calldata at once; where no two calls fit, each goes alone. */
  readonly most: number
  /** Answers since `most` was learned. */
  readonly answers: number
}

/** What came of a merged call: it was answered, there is no such contract, or so many bytes were refused. */
export type Merged = 'taken' | 'absent' | { readonly refused: number }

/**
 * Most bytes at once. Calls through the contract are bounded by what gas nodes spend on one (50 million are usual, a view of the protocol
 * takes 60,000); what travelling code returns counts as a contract, which has 24,576 bytes (EIP-170): some 60 answers.
 */
const MOST = { contract: 65_536, code: 8_192 } as const

/** A refusal may be for what was in the call: after so many answers, twice as much is tried. */
const ANSWERS_UNTIL_MORE = 100

/** An endpoint that nobody has sent calls yet. */
export const firstMerging: Merging = { by: 'contract', most: MOST.contract, answers: 0 }

/**
 * How calls are merged after one more was sent.
 *
 * @example learnMerging(firstMerging, { refused: 65_000 }).most // 32_500
 */
export const learnMerging = (merging: Merging, merged: Merged): Merging => {
  const { by, most, answers } = merging
  if (merged === 'absent') return by === 'contract' ? { by: 'code', most: MOST.code, answers: 0 } : merging
  if (merged !== 'taken') return { by, most: Math.min(most, Math.floor(merged.refused / 2)), answers: 0 }
  return answers < ANSWERS_UNTIL_MORE
    ? { by, most, answers: answers + 1 }
    : { by, most: Math.min(MOST[by], most * 2), answers: 0 }
}
