/*
 * What an error of a wallet proves. The codes are those of EIP-1193, EIP-1474 and EIP-5792. Libraries and wallets wrap
 * them in other errors.
 */

/**
 * - `rejected`: the user declined.
 * - `unsupported`, `too_large`: the wallet does not take the request in this form, so it sent nothing.
 * - `duplicate`: the wallet has a batch with this id.
 * - `nonce`: a transaction with this nonce was mined, or waits.
 * - `refused`: the wallet answered with another error.
 * - `unknown`: no answer, or one that does not exclude that the wallet sent something.
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

const codes: Readonly<Record<'rejected' | 'duplicate' | 'too_large' | 'unsupported', readonly number[]>> = {
  rejected: [4001, 5000, 5750],
  duplicate: [5720],
  too_large: [5740],
  unsupported: [4100, 4200, -32004, -32601, -32602, 5700, 5710, 5760],
}

/** Internal errors and lost connections: the wallet may have sent something before. */
const UNCERTAIN: readonly number[] = [-32603, 1013, 4900, 4901]

/** In their order: the first one that matches decides. A node that already has a transaction was sent it. */
const texts: readonly (readonly [Refusal, RegExp])[] = [
  ['rejected', /\buser (rejected|denied|cancell?ed)|ACTION_REJECTED/i],
  ['unknown', /already known|known transaction/i],
  ['refused', /insufficient funds/i],
  ['nonce', /nonce[ _]?(too|is too|has|provided|expired)|(old|invalid|bad) ?nonce|replacement (transaction|fee)/i],
]

/** The words of an error. The message of viem repeats the arguments of the request, which have a nonce too. */
const textOf = (error: unknown): string => {
  const { shortMessage, details, message, code } = Object(error)
  return [shortMessage ?? message ?? error, details, code].join(' ').slice(0, MAX_TEXT)
}

export const refusalOf = (error: unknown): Refusal => {
  const chain = chainOf(error)
  const found = codesIn(chain)
  for (const [refusal, known] of Object.entries(codes))
    if (found.some((code) => known.includes(code))) return refusal as keyof typeof codes
  const text = [textOf(error), ...chain.map(textOf)].join(' ')
  const worded = texts.find(([, pattern]) => pattern.test(text))?.[0]
  if (worded !== undefined) return worded
  return found.every((code) => UNCERTAIN.includes(code)) ? 'unknown' : 'refused'
}
