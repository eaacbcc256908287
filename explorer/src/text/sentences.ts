import { isAddress, shortHex } from './address.ts'
import { rateText, shareText } from './amount.ts'
import { moneyText, type Token } from './money.ts'
import { chainText, pairText } from './terms.ts'
import { timeText } from './time.ts'

type Value = string | number | boolean | null
export type Args = Readonly<Record<string, Value>>

/** A part of a sentence: a text, or a text that links to a page. */
export type Part = string | { readonly text: string; readonly href: string }

/** Where a log or a call is: its chain, the address of the protocol there, and the token of its amounts. */
export type Where = { readonly chainId: number; readonly protocol: string; readonly token: Token | null }

/*
 * Sentences with the names of arguments in braces. A kind after a colon is how the argument is shown: `amount` (units of
 * the token), `rate` and `share` (1e6 fixed point), `account`, `pair`, `time` (Unix seconds). Ids link to their pages.
 */

const created = 'Event {eventId} was created by {creator:account} on {underlying:pair}, with a strike of {strike:rate}.'
const deposited = '{lp:account} deposited {amount:amount} into event {eventId}: deposit {depositId}.'
const bought =
  '{hedger:account} bought {notional:amount} of protection of event {eventId} for {totalCost:amount}: position {positionId}.'
const settled = 'Event {eventId} was settled at {settlementPrice:rate}.'

/** What logs mean, by their names. @internal */
export const logSentences: Readonly<Record<string, string>> = {
  EventCreated: created,
  HedgeEventCreated: created,
  DepositCreated: deposited,
  LiquidityDeposited: deposited,
  PositionCreated: bought,
  ProtectionPurchased: bought,
  EventSettled: settled,
  OracleEventSettled: settled,
  PoolSettingsUpdated: 'The settings of the pool of event {eventId} were changed.',
  PremiumsClaimed:
    '{lp:account} claimed the premiums of deposit {depositId}: {netAmount:amount} after a fee of {fee:amount}.',
  PayoutClaimed:
    '{hedger:account} claimed the payout of position {positionId}: {netPayout:amount} after a fee of {fee:amount}.',
  CapitalWithdrawn: '{lp:account} withdrew {amount:amount} of capital of deposit {depositId}.',
  CreatorEarningsWithdrawn: '{creator:account} withdrew {amount:amount} of earnings of event {eventId}.',
  ExpiredPayoutsRecovered: 'The protocol took {amount:amount} of payouts of event {eventId} that were not claimed.',
  RateSubmitted: '{oracle:account} submitted the rate {price:rate} for event {eventId}.',
  ConsensusReached: '{signerCount} oracles agreed on {agreedPrice:rate} for event {eventId}.',
  SubmissionsCleared: 'The submissions for event {eventId} were cleared: {reason}',
  FeesInitialized:
    'The fees were set: {hedgerFeeRate:share} of premiums, {hedgerPayoutFeeRate:share} of payouts, {lpProfitFeeRate:share} of claimed premiums.',
  PlatformFeesWithdrawn: '{admin:account} withdrew {amount:amount} of fees.',
  PlatformFeesByTokenWithdrawn: '{admin:account} withdrew {amount:amount} of fees.',
  OracleAdded: '{oracle:account} was added as an oracle.',
  OracleRemoved: '{oracle:account} was removed as an oracle.',
  OracleConfigUpdated: '{requiredSigners} oracles have to agree within {toleranceBps} basis points.',
  OracleV2Activated: 'The oracles were activated.',
  OracleAdminSet: '{admin:account} became the admin of the oracles.',
  PricingEngineSignerSet: '{newSigner:account} became the signer of quotes.',
  PaymentTokenSet: 'The payment token {token:account} was allowed or removed.',
  Paused: '{by:account} paused the protocol.',
  Unpaused: '{by:account} resumed the protocol.',
  OwnershipTransferStarted: '{currentOwner:account} offered the ownership to {pendingOwner:account}.',
  OwnershipTransferred: '{newOwner:account} became the owner.',
  ETHRescued: '{amount} wei were sent to {to:account}.',
  ERC20Rescued: '{amount:amount} were sent to {to:account}.',
  CutProposed: 'An upgrade of the contracts was proposed, for {eta:time} or later.',
  CutExecuted: 'An upgrade of the contracts was carried out.',
  CutCancelled: 'An upgrade of the contracts was cancelled.',
  DiamondCut: 'The functions of the contracts were changed.',
  Transfer: '{from:account} sent {value:amount} to {to:account}.',
  Approval: '{owner:account} allowed {spender:account} to spend {value:amount}.',
}

/** What calls ask for, by the names of their functions. @internal */
export const callSentences: Readonly<Record<string, string>> = {
  createEvent: 'Create an event on {underlying:pair} with a strike of {strike:rate}.',
  deposit: 'Deposit liquidity into event {eventId}.',
  buyProtection: 'Buy protection of event {eventId}.',
  claimPayout: 'Claim the payout of position {positionId}.',
  claimPremiums: 'Claim the premiums of deposit {depositId}.',
  withdrawCapital: 'Withdraw the capital of deposit {depositId}.',
  withdrawCreatorEarnings: 'Withdraw the earnings of event {eventId}.',
  setPoolSettings: 'Change the settings of the pool of event {eventId}.',
  submitRate: 'Submit the rate {price:rate} for event {eventId}.',
  settleEvent: 'Settle event {eventId}.',
  recoverExpiredPayouts: 'Take the payouts of event {eventId} that were not claimed.',
  clearStaleSubmissions: 'Clear the old submissions for event {eventId}.',
  approve: 'Allow {spender:account} to spend a token.',
}

/** The largest approval, which wallets call unlimited. */
const UNLIMITED = 2n ** 256n - 1n

const isCount = (value: Value): value is string | number => /^\d+$/.test(String(value))

const accountOf = (value: string, { protocol }: Where): Part => {
  if (value.toLowerCase() === protocol.toLowerCase()) return 'the protocol'
  return isAddress(value) ? { text: shortHex(value), href: `/wallet/${value}` } : chainText(value)
}

const textKinds: Readonly<Record<string, (value: string, where: Where) => Part>> = {
  account: accountOf,
  pair: pairText,
}

const numberKinds: typeof textKinds = {
  amount: (value, { token }) =>
    BigInt(value) === UNLIMITED ? 'any amount' : token === null ? `${value} units` : moneyText(BigInt(value), token),
  rate: (value) => rateText(BigInt(value)),
  share: (value) => shareText(BigInt(value)),
  time: (value) => timeText(Number(value)),
}

const idPages: Readonly<Record<string, string>> = { eventId: 'event', positionId: 'position', depositId: 'deposit' }

const partOf = (name: string, kind: string | undefined, args: Args, where: Where): Part => {
  const value = args[name]
  if (value === undefined || value === null) return '(not known)'
  const page = idPages[name]
  if (page !== undefined && isCount(value)) return { text: `${value}`, href: `/${page}/${where.chainId}/${value}` }
  const shown = textKinds[kind ?? ''] ?? (isCount(value) ? numberKinds[kind ?? ''] : undefined)
  return shown === undefined ? chainText(String(value)) : shown(String(value), where)
}

/** A sentence with the values of its arguments. */
const fill = (sentence: string, args: Args, where: Where): readonly Part[] => {
  const [first = '', ...others] = sentence
    .split(/(\{\w+(?::\w+)?\})/)
    .filter((piece) => piece !== '')
    .map((piece) => {
      const [, name, kind] = /^\{(\w+)(?::(\w+))?\}$/.exec(piece) ?? []
      return name === undefined ? piece : partOf(name, kind, args, where)
    })
  return [typeof first === 'string' ? `${first.slice(0, 1).toUpperCase()}${first.slice(1)}` : first, ...others]
}

/** Names and values, for what has no sentence. */
const plain = (name: string, args: Args): readonly Part[] => {
  const values = Object.entries(args).map(([key, value]) => `${chainText(key, 40)}: ${chainText(String(value), 80)}`)
  return [`${chainText(name)}${values.length === 0 ? '' : ` (${values.join(', ')})`}`]
}

/** A log in words. */
export const logParts = (name: string, args: Args, where: Where): readonly Part[] => {
  const sentence = Object.hasOwn(logSentences, name) ? logSentences[name] : undefined
  return sentence === undefined ? plain(name, args) : fill(sentence, args, where)
}

/** A call in words. */
export const callParts = (name: string, args: Args, where: Where): readonly Part[] => {
  const sentence = Object.hasOwn(callSentences, name) ? callSentences[name] : undefined
  return sentence === undefined ? plain(name, args) : fill(sentence, args, where)
}

/** How final the block of a transaction is, in words. */
export const finalityText: Readonly<Record<'latest' | 'safe' | 'finalized', string>> = {
  latest: 'not final: a reorganization of the chain can still remove it',
  safe: 'safe: a reorganization is unlikely to remove it',
  finalized: 'final',
}
