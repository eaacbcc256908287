import { actions } from '../../src/plans/actions/table.ts'

/*
 * The specification's list of endpoints, written by hand from the specification and from nothing else, so that what the
 * service mounts, generates and answers is held against it. `extensions` and `furtherBuilders` list what the service
 * adds to it.
 */

/**
 * What a value is. `uint` is a JSON integer of at least 0, `decimal` a string of digits, `hex` a 0x string; a question
 * mark is "or null". A list has the kind of its items, an object its fields; a field whose name ends in a question mark
 * may be absent. A field named `?` means that the object may be null, and `...` that the specification does not show
 * all fields.
 */
export type Kind = string | readonly [Kind] | { readonly [field: string]: Kind }

export type Get = {
  readonly query?: readonly string[]
  readonly data: Kind
  /** Fields that the specification does not have. */
  readonly added?: Readonly<Record<string, Kind>>
}

const ids: Kind = ['uint']
const byChain = ['chainId']

/** What single records have as rows of lists do. */
const rowFields = {
  ...{ chainId: 'uint', createdBlock: 'uint?', createdTx: 'hex?', createdAt: 'uint?', createdLogIndex: 'uint?' },
  ...{ token: 'address?', symbol: 'string?', decimals: 'uint?' },
} as const

/** The reads: path, query parameters and payload. */
export const gets: Readonly<Record<string, Get>> = {
  '/me': {
    data: { address: 'address', email: 'string?', phoneNumber: 'string?', externalId: 'string?', user: 'string' },
  },
  '/chains': {
    data: [
      {
        chainId: 'uint',
        name: 'string',
        symbol: 'string',
        diamond: 'address',
        usdc: 'address',
        usdt: 'address?',
        rpcUrl: 'string',
        paymentDecimals: { USDC: 'uint', 'USDT?': 'uint' },
      },
    ],
  },
  '/hedge/fees': {
    query: byChain,
    data: {
      chainId: 'uint',
      creationFee: 'decimal',
      hedgerFeeRate: 'decimal',
      payoutFeeRate: 'decimal',
      lpProfitFeeRate: 'decimal',
      creatorLoyaltyRate: 'decimal',
    },
  },
  '/governance/owner': { query: byChain, data: { chainId: 'uint', owner: 'address', pendingOwner: 'address' } },
  '/governance/facets': {
    query: byChain,
    data: { chainId: 'uint', facets: [{ facetAddress: 'address', functionSelectors: ['hex'] }] },
  },
  '/hedge/events/{chainId}/total': { data: 'uint' },
  '/hedge/events/{chainId}/{id}': {
    data: {
      strike: 'decimal',
      expiryDate: 'uint',
      premiumRate: 'decimal',
      strikeAbove: 'boolean',
      poolOpen: 'boolean',
      '...': '',
    },
  },
  '/hedge/events/{chainId}/{id}/stats': { data: { settledAt: 'uint', triggered: 'boolean', '...': '' } },
  '/hedge/events/{chainId}/{id}/range': {
    data: { strikeAbove: 'boolean', payoutCap: 'decimal', initialRate: 'decimal', '...': '' },
  },
  '/hedge/events/{chainId}/{id}/utilization': {
    data: {
      totalLiquidity: 'decimal',
      totalExposure: 'decimal',
      availableCapacity: 'decimal',
      utilizationRate: 'decimal',
    },
  },
  '/hedge/events/{chainId}/{id}/positions': { data: ids },
  '/hedge/events/{chainId}/{id}/deposits': { data: ids },
  '/hedge/positions/{chainId}/{id}': {
    data: {
      id: 'uint',
      eventId: 'uint',
      hedger: 'address',
      notional: 'decimal',
      premiumPaid: 'decimal',
      platformFeePaid: 'decimal',
      payoutAmount: 'decimal',
      status: 'uint',
      claimed: 'boolean',
    },
    added: { statusText: 'string', ...rowFields, claimedAt: 'uint?', claimedTx: 'hex?' },
  },
  '/hedge/positions/{chainId}/wallet/{addr}': { data: ids },
  '/hedge/deposits/{chainId}/{id}': {
    data: {
      id: 'uint',
      eventId: 'uint',
      lp: 'address',
      amount: 'decimal',
      shares: 'decimal',
      premiumsEarned: 'decimal',
      premiumsClaimed: 'decimal',
      withdrawn: 'boolean',
    },
    added: { ...rowFields, withdrawnAt: 'uint?', withdrawnTx: 'hex?' },
  },
  '/hedge/deposits/{chainId}/{id}/pending': { data: 'decimal' },
  '/hedge/deposits/{chainId}/wallet/{addr}': { data: ids },
  '/hedge/creators/{chainId}/wallet/{addr}': { data: ids },
  '/hedge/quote-payout/{chainId}/{id}': { query: ['hypoSettlement', 'notional'], data: 'decimal' },
  '/hedge/paused/{chainId}': { data: 'boolean' },
  '/hedge/pricing-engine-signer/{chainId}': { data: 'address' },
  '/oracle/config/{chainId}': {
    data: { chainId: 'uint', requiredSigners: 'uint', toleranceBps: 'uint', oracleCount: 'uint', maxOracles: 'uint' },
  },
  '/oracle/submissions/{chainId}/{eventId}': {
    data: {
      chainId: 'uint',
      eventId: 'uint',
      count: 'uint',
      submissions: [{ oracle: 'address', price: 'decimal', timestamp: 'uint', isStale: 'boolean' }],
    },
  },
  '/oracle/oracles/{chainId}': { data: ['address'] },
  '/governance/proposals/{chainId}/{proposalId}': { data: { '...': '' } },
  '/pricing/health': {
    data: {
      usdRate: { rate: 'number', recordDate: 'string', fetchedAt: 'uint' },
      pricingEngineSigner: 'address?',
      pairs: [{ pair: 'string', tier: 'string', useEmpiricalDrift: 'boolean', historicalCloses: 'uint' }],
    },
  },
  '/pricing/signer': { data: { signerAddress: 'address?' } },
}

/** Payload of every builder. */
export const builtTx: Kind = {
  chainId: 'uint',
  to: 'address',
  data: 'hex',
  value: 'decimal',
  function: 'string',
  args: { '...': '' },
  estimatedGas: 'decimal?',
  '...': '',
}

/** The other POSTs: body (a question mark at the end of an optional field) and payload. */
export const posts: Readonly<Record<string, { readonly body: readonly string[]; readonly data: Kind }>> = {
  '/tx/broadcast': { body: ['chainId', 'signedTx'], data: { txHash: 'hex', '...': '' } },
  '/pricing/quote': {
    body: [
      'pair',
      'strike',
      'payoutCap',
      'expiryUnixSeconds',
      'notional',
      'strikeAbove',
      'chainId?',
      'diamondAddress?',
      'creator?',
    ],
    data: {
      premiumRate: 'number',
      premiumUsd: 'number',
      maxPayoutUsd: 'number',
      premiumRateFixed6: 'decimal',
      attestation: {
        '?': '',
        signature: 'hex',
        quoteTimestamp: 'decimal',
        quoteNonce: 'hex',
        signerAddress: 'address',
        expiresAt: 'decimal',
      },
      breakdown: { '...': '' },
    },
  },
}

/** The other routes under `/v1`, from the section on versioning. */
export const pages = ['/openapi.json', '/docs', '/changelog'] as const

/** Further routes, except builders; the plans by the table of actions. They must not shadow a route of the specification. */
export const extensions = [
  'GET /hedge/events',
  'GET /hedge/positions',
  'GET /hedge/deposits',
  'GET /wallets/{addr}/portfolio',
  'GET /wallets/{addr}/balances',
  'POST /wallets/portfolio',
  'GET /hedge/settlements',
  'GET /hedge/settlements/stream',
  'GET /activity',
  'GET /series',
  'GET /hedge/events/{chainId}/{id}/series',
  'GET /hedge/deposits/{chainId}/{id}/series',
  'GET /wallets/{addr}/series',
  'GET /changes',
  'GET /changes/stream',
  'POST /changes',
  'GET /transactions/{chainId}/{hash}',
  'GET /reverts',
  'POST /webhooks',
  'GET /webhooks',
  'GET /webhooks/{id}',
  'DELETE /webhooks/{id}',
  'GET /webhooks/{id}/deliveries',
  ...['ping', 'pause', 'resume', 'rotate'].map((name) => `POST /webhooks/{id}/${name}`),
  'POST /pricing/backtest',
  ...Object.keys(actions).map((name) => `POST /plans/${name}`),
] as const

/** The specification's tables of builders: path, function and arguments. */
const specifiedBuilders: Readonly<Record<string, string>> = {
  '/tx/erc20/approve': 'approve(address spender, uint256 amount)',
  '/tx/hedge/create-event':
    'createEvent((string name, string underlying, uint256 strike, uint256 payoutCap, uint256 premiumRate, uint256 expiry, bool allowExternalLp, uint256 initialLiquidity, uint256 initialRate, bool strikeAbove, address paymentToken, bytes signature, uint256 quoteTimestamp, bytes32 quoteNonce) params)',
  '/tx/hedge/deposit': 'deposit(uint256 eventId, uint256 amount)',
  '/tx/hedge/buy-protection': 'buyProtection(uint256 eventId, uint256 notional, uint256 maxCost, uint256 deadline)',
  '/tx/hedge/claim-payout': 'claimPayout(uint256 positionId)',
  '/tx/hedge/claim-premiums': 'claimPremiums(uint256 depositId)',
  '/tx/hedge/withdraw-capital': 'withdrawCapital(uint256 depositId)',
  '/tx/hedge/set-pool-settings': 'setPoolSettings(uint256 eventId, bool poolOpen, bool allowExternalLp)',
  '/tx/hedge/withdraw-creator-earnings': 'withdrawCreatorEarnings(uint256 eventId)',
  '/tx/oracle/submit-rate': 'submitRate(uint256 eventId, uint256 price)',
  '/tx/hedge/initialize-fees':
    'initializeHedgeFees(uint256 creationFee, uint256 hedgerFeeRate, uint256 payoutFeeRate, uint256 lpProfitFeeRate, uint256 creatorLoyaltyRate)',
  '/tx/hedge/settle-event': 'settleEvent(uint256 eventId, uint256 settlementPrice)',
  '/tx/hedge/pause': 'pause()',
  '/tx/hedge/unpause': 'unpause()',
  '/tx/hedge/activate-oracle-v2': 'activateOracleV2()',
  '/tx/hedge/set-oracle-admin': 'setOracleAdmin(address admin)',
  '/tx/hedge/set-pricing-engine-signer': 'setPricingEngineSigner(address signer)',
  '/tx/hedge/withdraw-platform-fees': 'withdrawPlatformFees(uint256 amount)',
  '/tx/hedge/withdraw-platform-fees-by-token': 'withdrawPlatformFeesByToken(address token, uint256 amount)',
  '/tx/hedge/rescue-eth': 'rescueETH(address to)',
  '/tx/hedge/rescue-erc20': 'rescueERC20(address token, address to)',
  '/tx/hedge/set-allowed-payment-token': 'setAllowedPaymentToken(address token, bool allowed)',
  '/tx/hedge/recover-expired-payouts': 'recoverExpiredPayouts(uint256 eventId)',
  '/tx/oracle/add-oracle': 'addOracle(address oracle)',
  '/tx/oracle/remove-oracle': 'removeOracle(address oracle)',
  '/tx/oracle/set-required-signers': 'setRequiredSigners(uint256 required)',
  '/tx/oracle/set-tolerance-bps': 'setToleranceBps(uint256 bps)',
  '/tx/oracle/clear-stale-submissions': 'clearStaleSubmissions(uint256 eventId)',
  '/tx/ownership/transfer-ownership': 'transferOwnership(address newOwner)',
  '/tx/ownership/accept-ownership': 'acceptOwnership()',
  '/tx/governance/diamond-cut':
    'diamondCut((address facetAddress, uint8 action, bytes4[] functionSelectors)[] cuts, address init, bytes initData)',
  '/tx/governance/execute-cut': 'executeCut(bytes32 proposalId)',
  '/tx/governance/cancel-cut': 'cancelCut(bytes32 proposalId)',
}

/** Further builders. They must not shadow a route of the specification. */
const furtherBuilders: Readonly<Record<string, string>> = {}

/** Every builder. */
export const builders = { ...specifiedBuilders, ...furtherBuilders }
