/*
 * What an error of a wallet proves. The codes are those of EIP-1193, EIP-1474 and EIP-5792. Libraries and wallets wrap
 * them in other errors.
 */

/**
 * - `rejected`: the user declined.
 * - `unsupported`, `too_large`: the wallet does not take the request in this form, so it sent nothing.
 * - `duplicate`: the wallet has a batch with this id.
 * - `nonce`: a transaction with this nonce was mined, or waits.
 * - `refused`: the wallet or its node checked the request and did not take it.
 * - `unknown`: no answer, or any other error: none excludes that the wallet sent something before.
 */
export type Refusal = 'rejected' | 'unsupported' | 'too_large' | 'duplicate' | 'nonce' | 'refused' | 'unknown'

/** Most errors in one another that are read. */
const MAX_DEPTH = 8

/** Most characters of an error that are read. */
const MAX_TEXT = 4_096

/** An error, and those that it wraps. */
const chainOf = (error: unknown): readonly unknown[] => {
  const chain: unknown[] = []
  const wait = [error]
  for (let at = wait.shift(); at instanceof Object && chain.length < MAX_DEPTH; at = wait.shift()) {
    chain.push(at)
    const { cause, error: inner, data } = Object(at)
    wait.push(...[cause, inner, data, Object(data).originalError].filter((it) => it instanceof Object))
  }
  return chain
}

/** Codes of JSON-RPC. Errors of browsers have small numbers of their own, and libraries wrap other errors with -1. */
const codesIn = (chain: readonly unknown[]): readonly number[] =>
  chain.map((it) => Object(it).code).filter((code): code is number => Math.abs(Number(code)) >= 1_000)

const codes: Readonly<Record<Exclude<Refusal, 'nonce' | 'unknown'>, readonly number[]>> = {
  rejected: [4001, 5000, 5750],
  duplicate: [5720],
  too_large: [5740],
  // Another request is open already; the transaction is rejected.
  refused: [-32002, -32003],
  unsupported: [4100, 4200, -32004, -32601, -32602, 5700, 5710, 5760],
}

/** A node that already has a transaction was sent it, and what took too long may have been sent before. */
const UNCERTAIN = /already known|known transaction|time(d )?[ -]?out/i

/** In their order: the first one that matches decides. */
const texts: readonly (readonly [Refusal, RegExp])[] = [
  ['rejected', /\buser (rejected|denied|cancell?ed)|ACTION_REJECTED/i],
  ['nonce', /nonce[ _]?(too|is too|has|provided|expired)|(old|invalid|bad) ?nonce|replacement (transaction|fee)/i],
  [
    'refused',
    /insufficient funds|execution reverted|intrinsic gas|gas required exceeds|exceeds block gas|(less than|below).{0,20}base fee|underpriced/i,
  ],
]

/** The words of an error. The message of viem repeats the arguments of the request, which have a nonce too. */
const textOf = (error: unknown): string => {
  const { shortMessage, details, message, code } = Object(error)
  return [shortMessage ?? message ?? error, details, code].join(' ').slice(0, MAX_TEXT)
}

export const refusalOf = (error: unknown): Refusal => {
  const chain = chainOf(error)
  const text = [textOf(error), ...chain.map(textOf)].join(' ')
  if (UNCERTAIN.test(text)) return 'unknown'
  // Only the outermost code is the answer to the request: others are of what the wallet did meanwhile.
  const [code = 0] = codesIn(chain)
  const byText = texts.find(([, pattern]) => pattern.test(text))?.[0] ?? 'unknown'
  const byCode = Object.entries(codes).find(([, known]) => known.includes(code))?.[0] as keyof typeof codes | undefined
  // Nodes also reject a used nonce as a transaction that they do not take.
  return byCode === undefined || (byCode === 'refused' && byText === 'nonce') ? byText : byCode
}
