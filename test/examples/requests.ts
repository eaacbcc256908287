import { type Hex, zeroAddress, zeroHash } from 'viem'
import type { Recorded } from '../../src/api/openapi/recorded.ts'
import { mountedOf } from '../../src/sandbox/deploy.ts'
import { addresses } from './chain.ts'
import { DAY, NOW } from './clock.ts'
import { ENDPOINT } from './endpoint.ts'
import { planBodies } from './plans.ts'
import type { Story } from './story.ts'

/** The request of an example. Names are those of the description. */
export type Request = Omit<Recorded, 'response' | 'stream'>

/** The requests of plans by their operations, with amounts as texts. */
const plansOf = (bodies: Readonly<Record<string, object>>): Readonly<Record<string, Request>> =>
  Object.fromEntries(
    Object.entries(bodies).map(([path, body]) => [
      path.replace('/v1/plans/', 'plan-').replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase()),
      { body: JSON.parse(JSON.stringify(body, (_, value) => (typeof value === 'bigint' ? String(value) : value))) },
    ]),
  )

/** The request of every operation, by its id. */
export const requestsOf = ({ base, ids, purchase, hash }: Story): Readonly<Record<string, Request>> => {
  const chainId = 8453
  const { creator, lp, hedger, owner, oracle, secondOracle, stranger, engine } = addresses
  const { diamond, usdc } = base.deployment
  const path = { chainId }
  // One event, so that operations share the example of their 404.
  const ofEvent = { path: { chainId, id: 2 } }
  const ofEndpoint = { path: { id: ENDPOINT } }
  const none: Request = {}
  const ofOwner = { chainId, from: owner }
  const later = String(NOW + 60 * DAY)
  const range = { pair: 'USD/GHS', strike: 12, payoutCap: 13.5, strikeAbove: true }
  const quote = { ...range, expiryUnixSeconds: NOW + 90 * DAY, notional: 10_000 }
  const hongKong = { pair: 'USD/HKD', strike: 7.8, payoutCap: 8.1, strikeAbove: true }
  const funds = { initialLiquidity: '75000000000', paymentToken: usdc }
  const unsigned = { signature: '0x' as Hex, quoteTimestamp: '0', quoteNonce: zeroHash }
  const cut = { facetAddress: ids.facetAddress, action: 1, functionSelectors: mountedOf('reference', 'LoupeFacet') }

  return {
    getLanding: none,
    getLivez: none,
    getReadyz: none,
    getStatus: none,
    getChangelog: none,
    getMe: none,
    getChains: none,
    getReverts: { query: { code: 'past_deadline' } },

    getHedgeFees: { query: { chainId } },
    getHedgePaused: { path },
    getHedgePricingEngineSigner: { path },
    getHedgeEventsTotal: { path },
    getHedgeEventsById: ofEvent,
    getHedgeEventsStatsById: ofEvent,
    getHedgeEventsRangeById: ofEvent,
    getHedgeEventsUtilizationById: ofEvent,
    getHedgeEventsSeriesById: { ...ofEvent, query: { interval: 'week', metric: 'liquidity,premiums' } },
    getHedgeEventsPositionsById: { ...ofEvent, query: { limit: 2 } },
    getHedgeEventsDepositsById: { ...ofEvent, query: { limit: 2 } },
    getHedgeCreatorsWalletByAddr: { path: { chainId, addr: creator }, query: { limit: 2 } },
    getHedgeQuotePayoutById: {
      ...ofEvent,
      query: { hypoSettlement: '12500000', notional: '10000000000' },
    },
    getHedgePositionsById: ofEvent,
    getHedgePositionsWalletByAddr: { path: { chainId, addr: hedger }, query: { limit: 3 } },
    getHedgeDepositsById: { path: { chainId, id: 3 } },
    getHedgeDepositsPendingById: { path: { chainId, id: 3 } },
    getHedgeDepositsSeriesById: {
      path: { chainId, id: 3 },
      query: { interval: 'week', metric: 'capital,premiumsEarned,value' },
    },
    getHedgeDepositsWalletByAddr: { path: { chainId, addr: lp } },
    getOracleConfig: { path },
    getOracleOracles: { path },
    getOracleSubmissionsByEventId: { path: { chainId, eventId: 2 } },
    getGovernanceOwner: { query: { chainId } },
    getGovernanceFacets: { query: { chainId } },
    getGovernanceProposalsByProposalId: { path: { chainId, proposalId: ids.executable } },

    getHedgeEvents: { query: { underlying: 'USD/GHS', state: 'open', sort: 'expiry', count: true } },
    getHedgePositions: { query: { wallet: hedger, claimable: true, include: 'event' } },
    getHedgeDeposits: { query: { chainId: '8453', wallet: lp, limit: 1 } },
    getActivity: { query: { chainId: '8453', wallet: hedger, type: 'position.created,payout.claimed', limit: 2 } },
    getSeries: { query: { chainId: '8453', interval: 'week', metric: 'liquidity,exposure,payouts' } },
    getWalletsSeriesByAddr: {
      path: { addr: hedger },
      query: { chainId: '8453', interval: 'week', metric: 'notional,payout' },
    },
    getWalletsPortfolioByAddr: { path: { addr: hedger }, query: { chainId: '8453' } },
    getWalletsBalancesByAddr: { path: { addr: hedger } },
    postWalletsPortfolio: { body: { wallets: [lp] } },
    getHedgeSettlements: { query: { chainId, since: '0' } },
    getHedgeSettlementsStream: { query: { chainId, since: '0' } },
    getChanges: { query: { chainId, types: 'wallet,event', limit: 3 } },
    postChanges: { body: { chainId, wallets: [hedger] } },
    getChangesStream: { query: { chainId, types: 'event' } },
    getTransactionsByHash: { path: { chainId, hash } },

    postWebhooks: {
      body: {
        url: 'https://hooks.bank.example/settlements',
        types: ['settlement.settled', 'settlement.reverted'],
        ...{ chainIds: [chainId], wallets: [hedger] },
      },
    },
    getWebhooks: none,
    getWebhooksById: ofEndpoint,
    getWebhooksDeliveriesById: ofEndpoint,
    postWebhooksPingById: ofEndpoint,
    postWebhooksPauseById: ofEndpoint,
    postWebhooksResumeById: ofEndpoint,
    postWebhooksRotateById: ofEndpoint,
    deleteWebhooksById: ofEndpoint,

    getPricingHealth: none,
    getPricingSigner: none,
    postPricingBacktest: { body: { ...hongKong, expiryUnixSeconds: NOW + 90 * DAY, notional: 10_000 } },
    postPricingQuote: { body: { ...quote, chainId, diamondAddress: diamond, creator } },

    postTxBroadcast: { body: purchase },
    buildApprove: { body: { chainId, from: hedger, token: usdc, spender: diamond, amount: '1000000000' } },
    buildCreateEvent: {
      body: {
        ...{ chainId, from: creator, name: 'Cedi importers Q4', underlying: 'USD/GHS' },
        ...{ strike: '12000000', payoutCap: '13500000', premiumRate: '23000', expiry: later, allowExternalLp: true },
        ...{ initialLiquidity: funds.initialLiquidity, initialRate: '11400000', strikeAbove: true, paymentToken: usdc },
        ...unsigned,
      },
    },
    buildDeposit: { body: { chainId, from: lp, eventId: 3, amount: '1000000000' } },
    buildBuyProtection: {
      body: {
        ...{ chainId, from: hedger, eventId: 3, notional: '10000000000' },
        ...{ maxCost: '240000000', deadline: String(NOW + 600) },
      },
    },
    buildClaimPayout: { body: { chainId, from: hedger, positionId: 2 } },
    buildClaimPremiums: { body: { chainId, from: lp, depositId: 3 } },
    buildWithdrawCapital: { body: { chainId, from: lp, depositId: 3 } },
    buildSetPoolSettings: { body: { chainId, from: creator, eventId: 3, poolOpen: false, allowExternalLp: false } },
    buildWithdrawCreatorEarnings: { body: { chainId, from: creator, eventId: 2 } },
    buildInitializeHedgeFees: {
      body: {
        ...{ ...ofOwner, creationFee: '5000000', hedgerFeeRate: '5000', payoutFeeRate: '5000' },
        ...{ lpProfitFeeRate: '50000', creatorLoyaltyRate: '100000' },
      },
    },
    buildSettleEvent: { body: { ...ofOwner, eventId: 4, settlementPrice: '11900000' } },
    buildPause: { body: ofOwner },
    buildUnpause: { body: { chainId: 56, from: owner } },
    buildActivateOracleV2: { body: ofOwner },
    buildSetOracleAdmin: { body: { ...ofOwner, admin: stranger } },
    buildSetPricingEngineSigner: { body: { ...ofOwner, signer: engine } },
    buildWithdrawPlatformFees: { body: { ...ofOwner, amount: '5000000' } },
    buildWithdrawPlatformFeesByToken: { body: { ...ofOwner, token: usdc, amount: '5000000' } },
    buildRescueETH: { body: { ...ofOwner, to: owner } },
    buildRescueERC20: { body: { ...ofOwner, token: ids.stray, to: owner } },
    buildSetAllowedPaymentToken: { body: { ...ofOwner, token: ids.stray, allowed: true } },
    buildRecoverExpiredPayouts: { body: { ...ofOwner, eventId: 1 } },
    buildSubmitRate: { body: { chainId, from: secondOracle, eventId: 4, price: '11900000' } },
    buildAddOracle: { body: { ...ofOwner, oracle: stranger } },
    buildRemoveOracle: { body: { ...ofOwner, oracle } },
    buildSetRequiredSigners: { body: { ...ofOwner, required: '3' } },
    buildSetToleranceBps: { body: { ...ofOwner, bps: '500' } },
    buildClearStaleSubmissions: { body: { ...ofOwner, eventId: 4 } },
    buildTransferOwnership: { body: { ...ofOwner, newOwner: stranger } },
    buildAcceptOwnership: { body: { chainId: 56, from: stranger } },
    buildDiamondCut: { body: { ...ofOwner, cuts: [cut], init: zeroAddress, initData: '0x' } },
    buildExecuteCut: { body: { ...ofOwner, proposalId: ids.executable } },
    buildCancelCut: { body: { ...ofOwner, proposalId: ids.cancellable } },

    ...plansOf(planBodies((person) => addresses[person], usdc, quote)),
  }
}
