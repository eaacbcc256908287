import { type Address, type Hex, zeroHash } from 'viem'
import { DAY } from './use-protocol.ts'

/** The body of a request that builds an unsigned event with a range, which expires 30 days after `now` (Unix seconds). */
export const eventBody = (now: bigint, paymentToken: Address) => ({
  name: 'Cedi',
  underlying: 'USD/GHS',
  strike: '12000000',
  payoutCap: '13500000',
  premiumRate: '23000',
  expiry: String(now + 30n * DAY),
  allowExternalLp: true,
  initialLiquidity: '1000000000',
  initialRate: '11400000',
  strikeAbove: true,
  paymentToken,
  signature: '0x' as Hex,
  quoteTimestamp: '0',
  quoteNonce: zeroHash as Hex,
})
