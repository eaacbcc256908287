import { type Address, type Hex, zeroAddress } from 'viem'
import type { Page, Queries } from '../db/query.ts'
import type { StoredBlock } from '../db/stored.ts'
import type { ChainId } from '../protocol/chains.ts'
import { type Call, call, type Output } from '../protocol/outputs.ts'
import { payoff } from '../protocol/payoff.ts'
import { ownerSlot, pendingOwnerSlot } from '../protocol/slots.ts'

/** View calls of a key by the names their outputs have here. */
export type Views<K, V> = Readonly<Record<keyof V, (key: K) => Call>>

/** What the views give, by the same names. */
export type Outputs<V> = {
  readonly [Name in keyof V]: V[Name] extends (...key: never[]) => Call<infer T> ? T : never
}

/** Something the protocol knows, as the chain shows it. */
export type OnChain<K, V extends Views<K, V>> = {
  readonly views: V
  /** Absent for what always exists. */
  readonly existence?: {
    /** The view that tells; for an unknown id it reverts or answers zeros. */
    readonly view: keyof V
    /** Judges that view's output alone: the others need not have been asked for. */
    readonly holds: (outputs: Outputs<V>) => boolean
    /** What a 404 says. */
    readonly missing: (key: K) => string
  }
}

/** The same where the index holds it too: as the views' outputs. */
export type Subject<K, V extends Views<K, V>> = OnChain<K, V> & {
  stored(queries: Queries, key: K): Promise<(Outputs<V> & { readonly observedAt: StoredBlock }) | null>
}

/** A list of ids: whole on the chain, in pages in the index. */
export type List<K, V extends Views<K, V>> = OnChain<K, V> & {
  whole(outputs: Outputs<V>): readonly bigint[]
  page(queries: Queries, key: K, page: Page): Promise<bigint[]>
  readonly existence?: {
    /** The same by the index: null when it does not hold what the list belongs to. */
    known(queries: Queries, key: K): Promise<object | null>
  }
}

const subject =
  <K>() =>
  <const V extends Views<K, V>>(it: Subject<K, V>): Subject<K, V> =>
    it

/** What only the chain knows. */
const onChain =
  <K>() =>
  <const V extends Views<K, V>>(it: OnChain<K, V>): OnChain<K, V> =>
    it

const list =
  <K>() =>
  <const V extends Views<K, V>>(it: List<K, V>): List<K, V> =>
    it

export type OfChain = { readonly chainId: ChainId }
export type OfId = OfChain & { readonly id: number }
export type OfEvent = OfChain & { readonly eventId: number }
export type OfProposal = OfChain & { readonly proposalId: Hex }
export type OfWallet = OfChain & { readonly addr: Address }
export type OfQuote = OfId & { readonly hypoSettlement: bigint; readonly notional: bigint }

/** What nobody but the protocol's owner changes, and too seldom to be indexed. Older proxies keep their owner and show it with no view. */
export const administration = onChain<OfChain>()({
  views: {
    owner: () => ({ ...call('owner'), slot: ownerSlot }),
    pendingOwner: () => ({ ...call('pendingOwner'), slot: pendingOwnerSlot }),
    facets: () => call('facets'),
    oracleConfig: () => call('getOracleConfig'),
    oracles: () => call('getOracles'),
    engineSigner: () => call('getPricingEngineSigner'),
  },
})

export const proposal = onChain<OfProposal>()({
  views: { proposal: ({ proposalId }: OfProposal) => call('getProposal', [proposalId]) },
  existence: {
    view: 'proposal',
    holds: ({ proposal }) => proposal.executeAfter > 0n,
    missing: ({ chainId, proposalId }) => `proposal ${proposalId} does not exist on chain ${chainId}`,
  },
})

/** The protocol's own state on a chain. */
export const protocol = subject<OfChain>()({
  views: {
    fees: () => call('getHedgeFeeConfig'),
    paused: () => call('isPaused'),
    total: () => call('getTotalHedgeEvents'),
  },
  stored: (queries, { chainId }) => queries.singleton(chainId),
})

const core = ({ id }: OfId) => call('getHedgeEventCore', [BigInt(id)])

const eventExists = {
  view: 'core',
  holds: ({ core }: { readonly core: Output<'getHedgeEventCore'> }) => core.creator !== zeroAddress,
  missing: ({ chainId, id }: OfId) => `event ${id} does not exist on chain ${chainId}`,
} as const

export const event = subject<OfId>()({
  views: {
    core,
    stats: ({ id }: OfId) => call('getHedgeEventStats', [BigInt(id)]),
    range: ({ id }: OfId) => call('getHedgeEventRange', [BigInt(id)]),
    utilization: ({ id }: OfId) => call('getPoolUtilization', [BigInt(id)]),
    paymentToken: ({ id }: OfId) => call('getEventPaymentToken', [BigInt(id)]),
  },
  existence: eventExists,
  stored: (queries, { chainId, id }) => queries.event(chainId, BigInt(id)),
})

/** An event's payout at a settlement rate: the chain's own answer, or its equation over the stored range. */
export const quote = subject<OfQuote>()({
  views: {
    core,
    payout: ({ id, hypoSettlement, notional }: OfQuote) =>
      call('quoteRangePayout', [BigInt(id), hypoSettlement, notional]),
  },
  existence: eventExists,
  async stored(queries, { chainId, id, hypoSettlement, notional }) {
    const known = await queries.event(chainId, BigInt(id))
    if (known === null) return null
    const { core, range, observedAt } = known
    return { core, payout: payoff(range, hypoSettlement, notional), observedAt }
  },
})

/** The rates that oracles submitted for an event and that still stand. */
export const submissions = onChain<OfEvent>()({
  views: {
    core: ({ eventId }: OfEvent) => call('getHedgeEventCore', [BigInt(eventId)]),
    submissions: ({ eventId }: OfEvent) => call('getAllSubmissions', [BigInt(eventId)]),
  },
  existence: { ...eventExists, missing: ({ chainId, eventId }) => eventExists.missing({ chainId, id: eventId }) },
})

export const position = subject<OfId>()({
  views: { position: ({ id }: OfId) => call('getHedgePosition', [BigInt(id)]) },
  existence: {
    view: 'position',
    holds: ({ position }) => position.hedger !== zeroAddress,
    missing: ({ chainId, id }) => `position ${id} does not exist on chain ${chainId}`,
  },
  stored: (queries, { chainId, id }) => queries.position(chainId, BigInt(id)),
})

export const deposit = subject<OfId>()({
  views: {
    deposit: ({ id }: OfId) => call('getHedgeLpDeposit', [BigInt(id)]),
    pending: ({ id }: OfId) => call('pendingPremiums', [BigInt(id)]),
  },
  existence: {
    view: 'deposit',
    holds: ({ deposit }) => deposit.lp !== zeroAddress,
    missing: ({ chainId, id }) => `deposit ${id} does not exist on chain ${chainId}`,
  },
  stored: (queries, { chainId, id }) => queries.deposit(chainId, BigInt(id)),
})

export const eventPositions = list<OfId>()({
  views: { core, ids: ({ id }: OfId) => call('getEventPositionIds', [BigInt(id)]) },
  existence: { ...eventExists, known: event.stored },
  whole: ({ ids }) => ids,
  page: (queries, { chainId, id }, page) => queries.positionIdsByEvent(chainId, BigInt(id), page),
})

export const eventDeposits = list<OfId>()({
  views: { core, ids: ({ id }: OfId) => call('getEventDepositIds', [BigInt(id)]) },
  existence: { ...eventExists, known: event.stored },
  whole: ({ ids }) => ids,
  page: (queries, { chainId, id }, page) => queries.depositIdsByEvent(chainId, BigInt(id), page),
})

export const walletPositions = list<OfWallet>()({
  views: { ids: ({ addr }: OfWallet) => call('getHedgerPositionIds', [addr]) },
  whole: ({ ids }) => ids,
  page: (queries, { chainId, addr }, page) => queries.positionIdsByHedger(chainId, addr, page),
})

export const walletDeposits = list<OfWallet>()({
  views: { ids: ({ addr }: OfWallet) => call('getLpDepositIds', [addr]) },
  whole: ({ ids }) => ids,
  page: (queries, { chainId, addr }, page) => queries.depositIdsByLp(chainId, addr, page),
})

export const walletEvents = list<OfWallet>()({
  views: { ids: ({ addr }: OfWallet) => call('getCreatorEventIds', [addr]) },
  whole: ({ ids }) => ids,
  page: (queries, { chainId, addr }, page) => queries.eventIdsByCreator(chainId, addr, page),
})
