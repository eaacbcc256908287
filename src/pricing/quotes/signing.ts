import { isAddressEqual } from 'viem'
import { invalid } from '../../lib/errors.ts'
import type { ChainTimes } from '../chain-times.ts'
import type { Attestation, QuoteRequest } from '../messages.ts'
import type { Attester } from './attest.ts'
import type { FixedRange } from './premium.ts'

/**
 * Seconds by which a signed quote is dated before the engine's clock or the chain's newest block, whichever is earlier:
 * a node that is a block or two behind rejects a quote dated in its future.
 */
const MARGIN_SECONDS = 5

/** The priced terms that a signature attests. */
type Priced = {
  readonly range: FixedRange
  readonly premiumRate: bigint
  /** The engine's clock in Unix seconds. */
  readonly asOf: number
  /** Why no quote is signed on these rates; null when one may be signed. */
  readonly fault: string | null
}

/**
 * The signature or null, and for the breakdown the reason for null or the times behind the signature (Unix seconds).
 */
type Signed =
  | { readonly attestation: null; readonly details: { readonly reason: string } }
  | {
      readonly attestation: Attestation
      readonly details: {
        readonly reason: null
        readonly clock: number
        readonly newestBlock: number
        readonly marginSeconds: number
      }
    }

export type Sign = (request: QuoteRequest, priced: Priced) => Promise<Signed>

/**
 * Signs quotes for a configured diamond, on fresh rates, dated before the newest block of its chain. Throws
 * `validation_error` for a diamond other than the configured one.
 */
export const createSign = (deps: {
  /** Null without a key: quotes are then advisory. */
  readonly attester: Attester | null
  readonly chainTimes: Pick<ChainTimes, 'of'>
}): Sign => {
  const { attester, chainTimes } = deps
  const unsigned = (reason: string): Signed => ({ attestation: null, details: { reason } })

  return async (request, { range, premiumRate, asOf, fault }) => {
    const { chainId, diamondAddress, creator, pair, strikeAbove, expiryUnixSeconds } = request
    if (chainId === undefined || diamondAddress === undefined || creator === undefined) {
      return unsigned('not requested: chainId, diamondAddress and creator are not given')
    }
    const { diamondAddress: configured, newestBlock, reason } = chainTimes.of(chainId)
    if (configured !== null && !isAddressEqual(configured, diamondAddress)) {
      const message = `quotes for chain ${chainId} are signed only for the diamond ${configured}`
      throw invalid(message, [{ path: 'diamondAddress', message }])
    }
    if (attester === null) return unsigned('the engine has no signing key: its quotes are advisory')
    if (fault !== null) return unsigned(fault)
    if (reason !== null || newestBlock === null) return unsigned(reason ?? `no block of chain ${chainId} is known`)
    const attestation = await attester.sign({
      chainId,
      diamond: configured ?? diamondAddress,
      creator,
      underlying: pair,
      ...range,
      premiumRate,
      expiry: BigInt(expiryUnixSeconds),
      strikeAbove,
      quoteTimestamp: BigInt(Math.min(asOf, newestBlock) - MARGIN_SECONDS),
    })
    return { attestation, details: { reason: null, clock: asOf, newestBlock, marginSeconds: MARGIN_SECONDS } }
  }
}
