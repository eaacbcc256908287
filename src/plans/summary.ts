import { type Address, formatUnits, type Hex } from 'viem'
import { erc20Abi } from '../abi/erc20.generated.ts'
import { protocolAbi } from '../abi/protocol.generated.ts'
import { clip } from '../lib/errors.ts'
import { MAX_UINT256 } from '../lib/fixed.ts'
import { functionsOf, ofItem, selectorOf } from '../protocol/contract-function.ts'
import type { Token } from '../protocol/tokens.ts'

/** Decoded arguments: of a function, or of the one struct that it takes. */
type Arguments = readonly unknown[]

/** The most characters of a text that others chose. */
const MAX_TEXT = 40

/** A text that others chose, without characters that change the line or the direction of the sentence. */
const plain = (text: unknown): string => clip(String(text).replace(/[\p{Cf}\p{Zl}\p{Zp}]/gu, ' '), MAX_TEXT)

/** A rate with its scale of 1e6. */
const rate = (value: unknown): string => formatUnits(BigInt(String(value)), 6)

const time = (seconds: unknown): string =>
  BigInt(String(seconds)) > 8_640_000_000_000n
    ? `Unix second ${seconds}`
    : new Date(Number(seconds) * 1_000).toISOString().replace('.000', '')

type Write = (args: Arguments, amount: (value: unknown) => string, called: string) => string

/** A sentence part for each function, from its decoded arguments. */
const sentences: Readonly<Record<string, Write>> = {
  approve: ([, value], amount, called) =>
    value === 0n ? `take back the protocol's allowance of ${called}` : `allow the protocol to take ${amount(value)}`,
  createEvent: ([params], amount) => {
    const { underlying, strike, payoutCap, premiumRate, expiryDate, initialLiquidity } = params as Record<
      string,
      unknown
    >
    const cap = payoutCap === 0n ? '' : `, with a cap at ${rate(payoutCap)}`
    return `create an event on ${JSON.stringify(plain(underlying))} at strike ${rate(strike)}${cap}, premium rate ${rate(premiumRate)}, expiring ${time(expiryDate)}, and seed it with ${amount(initialLiquidity)}`
  },
  deposit: ([eventId, value], amount) => `deposit ${amount(value)} into event ${eventId}`,
  buyProtection: ([eventId, notional, maxCost, deadline], amount) =>
    `buy protection of ${amount(notional)} in event ${eventId} for at most ${amount(maxCost)}, until ${time(deadline)}`,
  claimPayout: ([id]) => `claim the payout of position ${id}`,
  claimPremiums: ([id]) => `claim the premiums of deposit ${id}`,
  withdrawCapital: ([id]) => `withdraw the capital of deposit ${id}`,
  withdrawCreatorEarnings: ([id]) => `withdraw the creator's earnings of event ${id}`,
  setPoolSettings: ([id, isOpen, isExternal]) =>
    `${isOpen === true ? 'open' : 'close'} the pool of event ${id} and ${isExternal === true ? 'allow' : 'refuse'} other liquidity providers`,
  submitRate: ([id, price]) => `submit ${rate(price)} as the settlement rate of event ${id}`,
}

/** The functions of the protocol and of tokens by their selectors. */
const functions = new Map(
  functionsOf([...protocolAbi, ...erc20Abi])
    .map(ofItem)
    .map((called) => [called.selector, called]),
)

type Call = { readonly to: Address; readonly data: Hex }

const partOf = ({ to, data }: Call, main: Token | null, called: Token | undefined): string => {
  const encoded = functions.get(selectorOf(data))
  if (encoded === undefined) throw new TypeError(`no function has the selector of ${data}`)
  const { name: functionName } = encoded.item
  const args = encoded.decodeArguments(data)
  const token = called ?? main
  const amount = (value: unknown): string => {
    const units = BigInt(String(value))
    const symbol = token?.symbol == null ? null : plain(token.symbol)
    if (units === MAX_UINT256 && functionName === 'approve') return `any amount of ${symbol ?? 'the token'}`
    if (token?.decimals == null) return `${units} units of ${symbol ?? 'the token'}`
    return `${formatUnits(units, token.decimals)} ${symbol ?? 'tokens'}`
  }
  return (
    sentences[functionName]?.(args, amount, called?.symbol == null ? to : `${plain(called.symbol)} (${to})`) ??
    functionName
  )
}

/** Most parts that a summary lists. */
const MAX_PARTS = 5

/**
 * One sentence that states what calls do, written from their calldata alone. The amounts of calls of the protocol are
 * in `main`; `tokenAt` knows the tokens that are called.
 */
export const summaryOf = (
  calls: readonly Call[],
  main: Token | null,
  tokenAt: (address: Address) => Token | undefined,
): string => {
  if (calls.length === 0) return 'Nothing to do.'
  const parts = calls.slice(0, MAX_PARTS).map((call) => partOf(call, main, tokenAt(call.to)))
  const rest = calls.length - parts.length
  const text = [...parts, ...(rest > 0 ? [`do ${rest} more calls`] : [])].join(', then ')
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
