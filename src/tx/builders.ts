import type { ContractFunctionName } from 'viem'
import type { erc20Abi } from '../abi/erc20.generated.ts'
import type { protocolAbi } from '../abi/protocol.generated.ts'

type Names = Readonly<Record<string, string>>

/** A function of the protocol that changes its state. */
export type ProtocolWrite = ContractFunctionName<typeof protocolAbi, 'nonpayable'>

/** A builder: its path and the contract function that it encodes. Its body follows from the ABI's inputs. */
export type Builder = {
  readonly path: `/tx/${string}`
  readonly summary: string
  /** ABI input name (without its leading underscore) -> name in the body and the echo, when they differ. */
  readonly names?: Names
  /** Maximum bytes of the body, when it differs from `BODY_LIMIT`. */
  readonly bodyLimit?: number
} & (
  | { readonly target?: 'diamond'; readonly function: ProtocolWrite }
  | { readonly target: 'token'; readonly function: ContractFunctionName<typeof erc20Abi, 'nonpayable'> }
)

/** The names of fees in the fee config read. */
const fees: Names = { eventCreationFee: 'creationFee', hedgerPayoutFeeRate: 'payoutFeeRate' }

/** Every `POST /tx/…` that encodes a call. To add a builder, add a line here. */
export const builders: readonly Builder[] = [
  {
    path: '/tx/erc20/approve',
    target: 'token',
    function: 'approve',
    summary: 'Allow a spender to pull tokens',
    names: { value: 'amount' },
  },

  {
    path: '/tx/hedge/create-event',
    function: 'createEvent',
    summary: 'Create an event and seed its pool',
    names: { expiryDate: 'expiry' },
  },
  { path: '/tx/hedge/deposit', function: 'deposit', summary: "Add liquidity to an event's pool" },
  { path: '/tx/hedge/buy-protection', function: 'buyProtection', summary: 'Buy a position against an event' },
  { path: '/tx/hedge/claim-payout', function: 'claimPayout', summary: "Claim a position's payout" },
  { path: '/tx/hedge/claim-premiums', function: 'claimPremiums', summary: "Claim a deposit's premiums" },
  { path: '/tx/hedge/withdraw-capital', function: 'withdrawCapital', summary: "Withdraw a deposit's capital" },
  { path: '/tx/hedge/set-pool-settings', function: 'setPoolSettings', summary: "Open or close an event's pool" },
  {
    path: '/tx/hedge/withdraw-creator-earnings',
    function: 'withdrawCreatorEarnings',
    summary: "Withdraw an event creator's loyalty earnings",
  },

  {
    path: '/tx/hedge/initialize-fees',
    function: 'initializeHedgeFees',
    summary: 'Set the fees of new events (owner)',
    names: fees,
  },
  { path: '/tx/hedge/settle-event', function: 'settleEvent', summary: 'Settle an event (oracle admin)' },
  { path: '/tx/hedge/pause', function: 'pause', summary: 'Pause the hedge facet (owner)' },
  { path: '/tx/hedge/unpause', function: 'unpause', summary: 'Unpause the hedge facet (owner)' },
  {
    path: '/tx/hedge/activate-oracle-v2',
    function: 'activateOracleV2',
    summary: 'Switch settlement to oracle consensus permanently (owner)',
  },
  { path: '/tx/hedge/set-oracle-admin', function: 'setOracleAdmin', summary: 'Set the oracle admin (owner)' },
  {
    path: '/tx/hedge/set-pricing-engine-signer',
    function: 'setPricingEngineSigner',
    summary: "Register the pricing engine's signer (owner)",
  },
  {
    path: '/tx/hedge/withdraw-platform-fees',
    function: 'withdrawPlatformFees',
    summary: 'Withdraw platform fees in USDC (owner)',
  },
  {
    path: '/tx/hedge/withdraw-platform-fees-by-token',
    function: 'withdrawPlatformFeesByToken',
    summary: 'Withdraw platform fees in a token (owner)',
  },
  { path: '/tx/hedge/rescue-eth', function: 'rescueETH', summary: "Send out the proxy's native coin (owner)" },
  {
    path: '/tx/hedge/rescue-erc20',
    function: 'rescueERC20',
    summary: 'Send out tokens that were sent to the proxy by mistake (owner)',
  },
  {
    path: '/tx/hedge/set-allowed-payment-token',
    function: 'setAllowedPaymentToken',
    summary: 'Allow or disallow a payment token (owner)',
  },
  {
    path: '/tx/hedge/recover-expired-payouts',
    function: 'recoverExpiredPayouts',
    summary: 'Recover unclaimed payouts after the grace period (owner)',
  },

  { path: '/tx/oracle/submit-rate', function: 'submitRate', summary: "Submit an event's settlement rate (oracle)" },
  { path: '/tx/oracle/add-oracle', function: 'addOracle', summary: 'Add an oracle (owner)' },
  { path: '/tx/oracle/remove-oracle', function: 'removeOracle', summary: 'Remove an oracle (owner)' },
  {
    path: '/tx/oracle/set-required-signers',
    function: 'setRequiredSigners',
    summary: 'Set the number of oracles that must agree (owner)',
  },
  {
    path: '/tx/oracle/set-tolerance-bps',
    function: 'setToleranceBps',
    summary: 'Set how closely oracles must agree (owner)',
  },
  {
    path: '/tx/oracle/clear-stale-submissions',
    function: 'clearStaleSubmissions',
    summary: "Clear an event's submissions (owner)",
  },

  {
    path: '/tx/ownership/transfer-ownership',
    function: 'transferOwnership',
    summary: 'Offer the ownership to another address (owner)',
  },
  { path: '/tx/ownership/accept-ownership', function: 'acceptOwnership', summary: 'Accept an offered ownership' },

  {
    path: '/tx/governance/diamond-cut',
    function: 'diamondCut',
    summary: 'Queue an upgrade (owner)',
    names: { diamondCut: 'cuts', calldata: 'initData' },
    bodyLimit: 262_144,
  },
  { path: '/tx/governance/execute-cut', function: 'executeCut', summary: 'Execute a queued upgrade (owner)' },
  { path: '/tx/governance/cancel-cut', function: 'cancelCut', summary: 'Cancel a queued upgrade (owner)' },
]

/** The diamond's functions that have a builder. */
export const diamondFunctions: readonly string[] = builders.flatMap((builder) =>
  builder.target === 'token' ? [] : [builder.function],
)
