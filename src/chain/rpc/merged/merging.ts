/** How many view calls are merged into one call to an endpoint. */
export type Merging = {
  /** By the Multicall3 contract, or by code that is sent with the call where a chain lacks that contract. */
  readonly by: 'contract' | 'code'
  /** The most bytes of calldata in one merged call. */
  readonly most: number
  /** Answers of any kind since `most` was learned. */
  readonly answers: number
}

/** Why a merged call was not answered: there is no such contract, or so many bytes are refused. */
export type NotMerged = 'absent' | { readonly refused: number }

/**
 * The most bytes of one merged call. A call to the contract is limited by the gas that nodes allow (50 million are
 * usual, a view of the protocol takes 60,000). The answer of code sent along is limited to the size of a contract,
 * 24,576 bytes (EIP-170): about 60 answers.
 */
const MOST = { contract: 65_536, code: 8_192 } as const

/** A refusal may be due to the contents of the call: after so many answers twice as many bytes are tried. */
const ANSWERS_UNTIL_MORE = 100

/** The bytes that are tried after nothing was merged: a few views. */
const FEWEST = 1_024

/** The state before the first merged call. */
export const firstMerging: Merging = { by: 'contract', most: MOST.contract, answers: 0 }

/**
 * The state after a merged call that was not answered.
 *
 * @example learnMerging(firstMerging, { refused: 65_000 }).most // 32_500
 */
export const learnMerging = ({ by, most, answers }: Merging, failed: NotMerged): Merging => {
  if (failed !== 'absent') return { by, most: Math.min(most, Math.floor(failed.refused / 2)), answers: 0 }
  return by === 'contract' ? { by: 'code', most: MOST.code, answers: 0 } : { by, most, answers }
}

/** The state after one more answer, to merged calls or to others. */
export const answeredMerging = ({ by, most, answers }: Merging): Merging =>
  most === MOST[by] || answers < ANSWERS_UNTIL_MORE
    ? { by, most, answers: answers + 1 }
    : { by, most: Math.min(MOST[by], Math.max(most * 2, FEWEST)), answers: 0 }
