import { type Address, type Hex, zeroAddress } from 'viem'
import type { NodeError } from '../../chain/rpc/errors.ts'
import type { Block } from '../../chain/rpc/requests.ts'
import * as scope from '../../db/changes/scopes.ts'
import type { Page, Queries } from '../../db/queries/entities.ts'
import type { StoredBlock } from '../../db/stored.ts'
import { invalidField, type ServiceError } from '../../lib/errors.ts'
import { type Call, call } from '../../protocol/abi/outputs.ts'
import { ownerSlot, pendingOwnerSlot } from '../../protocol/abi/slots.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { entities, entityCalls, type Identity, type Kind, type MemberKind, ownerOf } from '../../protocol/entities.ts'
import { payoff, payoffOverflows } from '../../protocol/payoff.ts'
import { revertOf } from '../../protocol/reverts/decode.ts'
import { type Resource, resourceOf } from '../cache/resources.ts'
import type { PastSources } from '../history/block-at.ts'
import { eventAt, pastEvent } from '../history/past.ts'

/** View calls for a key, by the names of their outputs. */
export type Views<K, V> = Readonly<Record<keyof V, (key: K) => Call>>

/** The outputs of the views, by the same names. */
export type Outputs<V> = {
  readonly [Name in keyof V]: V[Name] extends (...key: never[]) => Call<infer T> ? T : never
}

/**
 * The views that are read together for one key, for example those of an event, and how to get their outputs: from the
 * chain and, where possible, from the index and from the ledger.
 */
export type ViewSet<K, V extends Views<K, V>> = {
  readonly views: V
  /** Absent when every key exists. */
  readonly existence?: {
    /** The view that shows it. For an unknown id it reverts or returns zeros. */
    readonly view: keyof V
    /** Whether the key exists, by the output of that view alone: the other views may not have been called. */
    readonly holds: (outputs: Outputs<V>) => boolean
    /** The message of a 404. */
    readonly missing: (key: K) => string
  }
  /** The error for a client when one of the other views reverts; null or absent for the revert itself. */
  readonly refusal?: (error: NodeError) => ServiceError | null
  /** Reads the views' outputs from the index; absent when only the chain has them. */
  stored?(queries: Queries, key: K): Promise<(Outputs<V> & { readonly observedAt: StoredBlock }) | null>
  /**
   * Makes the views' outputs at a block from the ledger; null for a key that does not exist then. `names` are the views
   * that are needed. Throws `InexactPast`. Absent when the outputs do not follow from the ledger.
   */
  past?(sources: PastReads, key: K, block: Block, names: readonly (keyof V)[]): Promise<Outputs<V> | null>
  /** The index entries that the outputs depend on; absent when they can change without a change of the index. */
  resource?(key: K): Resource
}

/** What reads of the past need. */
type PastReads = PastSources & { readonly queries: Queries }

/** A list of ids: the chain returns the whole list, the index returns pages. */
export type List<K, V extends Views<K, V>> = Pick<ViewSet<K, V>, 'views' | 'existence' | 'refusal'> & {
  whole(outputs: Outputs<V>): readonly bigint[]
  page(queries: Queries, key: K, page: Page): Promise<bigint[]>
  readonly existence?: {
    /** Reads the owner of the list from the index; null when the index does not have it. */
    known(queries: Queries, key: K): Promise<object | null>
    /** The same as of a block; null when it does not exist then. */
    past(sources: PastReads, key: K, block: Block): Promise<object | null>
  }
  /** The kind of the entities. */
  readonly kind: Kind
  resource(key: K): Resource
}

const viewSet =
  <K>() =>
  <const V extends Views<K, V>>(it: ViewSet<K, V>): ViewSet<K, V> =>
    it

export type OfChain = { readonly chainId: ChainId }
type OfId = OfChain & { readonly id: number }
type OfEvent = OfChain & { readonly eventId: number }
type OfProposal = OfChain & { readonly proposalId: Hex }
type OfWallet = OfChain & { readonly addr: Address }
type OfQuote = OfId & { readonly hypoSettlement: bigint; readonly notional: bigint }

const eventOf = ({ chainId, id }: OfId): Resource => resourceOf([chainId], scope.ofEvent(id))

/**
 * State that only the protocol's owner changes, too rarely to be indexed. Older proxies have no view for their owner,
 * so it is read from its storage slot.
 */
export const administration = viewSet<OfChain>()({
  views: {
    owner: () => ({ ...call('owner'), slot: ownerSlot }),
    pendingOwner: () => ({ ...call('pendingOwner'), slot: pendingOwnerSlot }),
    facets: () => call('facets'),
    oracleConfig: () => call('getOracleConfig'),
    oracles: () => call('getOracles'),
    engineSigner: () => call('getPricingEngineSigner'),
  },
})

export const proposal = viewSet<OfProposal>()({
  views: { proposal: ({ proposalId }: OfProposal) => call('getProposal', [proposalId]) },
  existence: {
    view: 'proposal',
    holds: ({ proposal }) => proposal.executeAfter > 0n,
    missing: ({ chainId, proposalId }) => `proposal ${proposalId} does not exist on chain ${chainId}`,
  },
})

/** The protocol's own state on a chain. */
export const protocol = viewSet<OfChain>()({
  views: {
    fees: () => call('getHedgeFeeConfig'),
    paused: () => call('isPaused'),
    total: () => call('getTotalHedgeEvents'),
  },
  stored: (queries, { chainId }) => queries.singleton(chainId),
  resource: ({ chainId }) => resourceOf([chainId], scope.protocolScope),
})

/** The views of a kind of entity, of its key. */
const viewsOf = <K extends Kind>(kind: K) => {
  const calls = entityCalls(kind)
  const names = Object.keys(calls) as (keyof typeof calls)[]
  const ofKey = names.map((name) => [name, ({ id }: OfId) => calls[name](BigInt(id))])
  return Object.fromEntries(ofKey) as {
    readonly [N in keyof typeof calls]: (key: OfId) => ReturnType<(typeof calls)[N]>
  }
}

/** When an entity exists: its identity, the output of `view`, has an owner. */
const existenceOf = <const V extends string>(kind: Kind, view: V) => ({
  view,
  holds: (outputs: Readonly<Record<V, Identity>>) => ownerOf(outputs[view]) !== zeroAddress,
  missing: ({ chainId, id }: OfId) => `${kind} ${id} does not exist on chain ${chainId}`,
})

const eventExists = existenceOf('event', 'core')
const { core } = viewsOf('event')

const storedEvent = (queries: Queries, { chainId, id }: OfId) => queries.event(chainId, BigInt(id))

/** The values of an event that its views show and that may not be known. */
const uncertain = { core: ['allowExternalLp'], stats: ['creatorEarnings'] } as const

const eventBefore = async (
  sources: PastReads,
  { chainId, id }: OfId,
  block: Block,
  needed: Parameters<typeof eventAt>[1],
) => {
  const found = await pastEvent(sources, chainId, block, BigInt(id))
  return found && eventAt(found, needed)
}

export const event = viewSet<OfId>()({
  views: viewsOf('event'),
  existence: eventExists,
  stored: storedEvent,
  past(sources, key, block, names) {
    const needed = names.flatMap((name) => (name === 'core' || name === 'stats' ? uncertain[name] : []))
    return eventBefore(sources, key, block, needed)
  },
  resource: eventOf,
})

/** Arithmetic of the contract that exceeds a uint256. */
const OVERFLOW = 'Panic(0x11)'

const overflow = (): ServiceError =>
  invalidField(
    'notional',
    'its product with the movement of the rate is above 2^256 - 1, where the protocol reverts: lower the notional',
  )

/** An event's payout at a settlement rate: from the chain's view, or by the same equation over the stored range. */
export const quote = viewSet<OfQuote>()({
  views: {
    core,
    payout: ({ id, hypoSettlement, notional }: OfQuote) =>
      call('quoteRangePayout', [BigInt(id), hypoSettlement, notional]),
  },
  existence: eventExists,
  refusal: (error) => (revertOf(error).reason === OVERFLOW ? overflow() : null),
  async stored(queries, { chainId, id, hypoSettlement, notional }) {
    const known = await queries.event(chainId, BigInt(id))
    if (known === null) return null
    const { core, range, observedAt } = known
    if (payoffOverflows(range, hypoSettlement, notional)) throw overflow()
    return { core, payout: payoff(range, hypoSettlement, notional), observedAt }
  },
})

/** The settlement rates that oracles submitted for an event and that the protocol still stores. */
export const submissions = viewSet<OfEvent>()({
  views: {
    core: ({ eventId }: OfEvent) => call('getHedgeEventCore', [BigInt(eventId)]),
    submissions: ({ eventId }: OfEvent) => call('getAllSubmissions', [BigInt(eventId)]),
  },
  existence: { ...eventExists, missing: ({ chainId, eventId }) => eventExists.missing({ chainId, id: eventId }) },
})

export const position = viewSet<OfId>()({
  views: viewsOf('position'),
  existence: existenceOf('position', 'position'),
  stored: (queries, { chainId, id }) => queries.position(chainId, BigInt(id)),
  async past(sources, { chainId, id }, block) {
    const now = await sources.queries.position(chainId, BigInt(id))
    const event = now && (await pastEvent(sources, chainId, block, now.position.eventId))
    const state = event?.fold.position(BigInt(id))
    return now && state ? { position: { ...now.position, ...state } } : null
  },
})

export const deposit = viewSet<OfId>()({
  views: viewsOf('deposit'),
  existence: existenceOf('deposit', 'deposit'),
  stored: (queries, { chainId, id }) => queries.deposit(chainId, BigInt(id)),
  async past(sources, { chainId, id }, block) {
    const now = await sources.queries.deposit(chainId, BigInt(id))
    const event = now && (await pastEvent(sources, chainId, block, now.deposit.eventId))
    const state = event?.fold.deposit(BigInt(id))
    return now && state ? { deposit: { ...now.deposit, ...state }, pending: state.pending } : null
  },
})

/** The ids of an event's members of a kind, by its view and by the index. */
const eventIds = (kind: MemberKind) => ({
  views: { core, ids: ({ id }: OfId) => call(entities[kind].memberIds.view, [BigInt(id)]) },
  existence: {
    ...eventExists,
    known: storedEvent,
    past: (sources: PastReads, key: OfId, block: Block) => eventBefore(sources, key, block, []),
  },
  kind,
  whole: ({ ids }: { readonly ids: readonly bigint[] }) => ids,
  page: (queries: Queries, { chainId, id }: OfId, page: Page) => queries.idsByEvent[kind](chainId, BigInt(id), page),
  resource: eventOf,
})

/** The ids of a kind that a wallet owns. A wallet always exists. */
const walletIds = (kind: Kind) => ({
  kind,
  views: { ids: ({ addr }: OfWallet) => call(entities[kind].ownerIds, [addr]) },
  whole: ({ ids }: { readonly ids: readonly bigint[] }) => ids,
  page: (queries: Queries, { chainId, addr }: OfWallet, page: Page) => queries.idsByOwner[kind](chainId, addr, page),
  resource: ({ chainId, addr }: OfWallet) => resourceOf([chainId], scope.ofWallet(addr)),
})

export const eventPositions = eventIds('position')
export const eventDeposits = eventIds('deposit')
export const walletPositions = walletIds('position')
export const walletDeposits = walletIds('deposit')
export const walletEvents = walletIds('event')
