import type { Address, Hex } from 'viem'
import { erc20Abi } from '../abi/erc20.generated.ts'
import { protocolAbi } from '../abi/protocol.generated.ts'
import { MAX_UINT256 } from '../lib/fixed.ts'
import { functionsOf, ofItem, selectorOf } from '../protocol/contract-function.ts'
import {
  amountText,
  formatAmount,
  purchaseText,
  rateText,
  signBeforeText,
  type Terms,
  termsText,
  type Unit,
  wordText,
} from '../protocol/sentence.ts'
import type { Token } from '../protocol/tokens.ts'

/** Decoded arguments: of a function, or of the one struct that it takes. */
type Arguments = readonly unknown[]

/** What the sentence of a call needs in addition to its arguments. */
type About = {
  /** The token of the amounts. */
  readonly unit: Unit
  /** The token that is called, with its address. */
  readonly called: string
  /** The terms of the event that protection is bought in; null when they are unknown. */
  readonly event: Terms | null
  /** What the call that spends costs; null when it is unknown. */
  readonly total: bigint | null
}

type Write = (args: Arguments, about: About) => string

/** A percentage of a 1e6 rate. */
const percent = (value: bigint): string => `${formatAmount(value, 4)} %`

/** A sentence part for each function, from its decoded arguments. */
const sentences: Readonly<Record<string, Write>> = {
  approve: ([, value], { unit, called }) => {
    if (value === 0n) return `take back the protocol's allowance of ${called}`
    if (value === MAX_UINT256)
      return `allow the protocol to take any amount of ${unit.symbol === null ? 'the token' : wordText(unit.symbol)}`
    return `allow the protocol to take ${amountText(value as bigint, unit)}`
  },
  createEvent: ([params], { unit, total }) => {
    const event = params as Terms & { readonly premiumRate: bigint; readonly initialLiquidity: bigint }
    const { premiumRate, initialLiquidity } = event
    const seeded = initialLiquidity === 0n ? '' : `, and seed it with ${amountText(initialLiquidity, unit)}`
    const cost = total === null ? '' : `: costs ${amountText(total, unit)}`
    return `create an event that sells protection against ${termsText(event)}, for ${percent(premiumRate)} of the notional${seeded}${cost}`
  },
  deposit: ([eventId, value], { unit }) => `deposit ${amountText(value as bigint, unit)} into event ${eventId}`,
  buyProtection: ([eventId, notional, maxCost], { event, unit, total }) => {
    const purchase = { eventId: eventId as bigint, notional: notional as bigint }
    return `buy ${purchaseText(event, { ...purchase, ...(total !== null && { maxCost: maxCost as bigint }) }, unit)}`
  },
  claimPayout: ([id]) => `claim the payout of position ${id}`,
  claimPremiums: ([id]) => `claim the premiums of deposit ${id}`,
  withdrawCapital: ([id]) => `withdraw the capital of deposit ${id}`,
  withdrawCreatorEarnings: ([id]) => `withdraw the creator's earnings of event ${id}`,
  setPoolSettings: ([id, isOpen, isExternal]) =>
    `${isOpen === true ? 'open' : 'close'} the pool of event ${id} and ${isExternal === true ? 'allow' : 'refuse'} other liquidity providers`,
  submitRate: ([id, price]) => `submit ${rateText(price as bigint)} as the settlement rate of event ${id}`,
}

/** The functions of the protocol and of tokens by their selectors. */
const functions = new Map(
  functionsOf([...protocolAbi, ...erc20Abi])
    .map(ofItem)
    .map((called) => [called.selector, called]),
)

type Call = { readonly to: Address; readonly data: Hex }

/** What a plan knows of its calls that their calldata does not have. */
export type Known = Pick<About, 'event' | 'total'> & {
  /** The token of the amounts of the protocol's calls. */
  readonly main: Token | null
  /** The tokens that are called. */
  tokenAt(address: Address): Token | undefined
  /** The last second at which the calls are accepted, when the sentence has to name it. */
  readonly signBefore: bigint | null
}

const partOf = ({ to, data }: Call, { main, tokenAt, event, total }: Known): string => {
  const encoded = functions.get(selectorOf(data))
  if (encoded === undefined) throw new TypeError(`no function has the selector of ${data}`)
  const { name: functionName } = encoded.item
  const token = tokenAt(to)
  const called = token?.symbol == null ? to : `${wordText(token.symbol)} (${to})`
  const unit = token ?? main ?? { symbol: null, decimals: null }
  return sentences[functionName]?.(encoded.decodeArguments(data), { unit, called, event, total }) ?? functionName
}

/** Most parts that a summary lists. */
const MAX_PARTS = 5

/** States what calls do: their arguments from the calldata, and the terms of the event that they are about. */
export const summaryOf = (calls: readonly Call[], known: Known): string => {
  if (calls.length === 0) return 'Nothing to do.'
  const parts = calls.slice(0, MAX_PARTS).map((call) => partOf(call, known))
  const rest = calls.length - parts.length
  const text = [...parts, ...(rest > 0 ? [`do ${rest} more calls`] : [])].join(', then ')
  const sentence = `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
  return known.signBefore === null ? sentence : `${sentence} ${signBeforeText(known.signBefore)}`
}
