import { Link } from 'wouter-preact'
import { useApi } from '../api/queries.ts'
import { stateOf } from '../parts/events-table.tsx'
import { Facts, Pill } from '../parts/facts.tsx'
import { Empty, Problem } from '../parts/state.tsx'
import { Amount } from '../parts/values.tsx'
import { isAddress } from '../text/address.ts'
import { isId } from '../text/input.ts'
import { chainText, conditionText, termsText } from '../text/terms.ts'
import { type ActionName, actions, type EntityKind } from './actions.ts'
import { type EventRow, eventLabel, type Owned, ownLabel } from './labels.ts'

/** A request, as far as its failure is concerned. */
type Request = { readonly data: unknown; readonly error: unknown; readonly refetch: () => unknown }

type Failed = { readonly error: unknown; readonly retry: () => void }

/** Why one of some requests has no answer, and a function that repeats those; null when none failed. */
export const failedOf = (...requests: readonly Request[]): Failed | null => {
  const failed = requests.filter(({ data, error }) => error !== null && data === undefined)
  const [first] = failed
  if (first === undefined) return null
  const retry = (): void => {
    for (const { refetch } of failed) void refetch()
  }
  return { error: first.error, retry }
}

type Found = { readonly event: EventRow | undefined; readonly isMissing: boolean; readonly request: Request }

/** The event that an action is about; undefined without one. */
export const useEventOf = (chainId: string, id: string): Found => {
  const enabled = isId(id) && isId(chainId)
  const params = { chainId, ids: id, include: 'stats,utilization' } as never
  const request = useApi('/v1/hedge/events', params, { enabled, live: true })
  const { data, isPlaceholderData } = request
  const event = enabled && !isPlaceholderData ? data?.data[0] : undefined
  const isMissing = enabled && data !== undefined && !isPlaceholderData && event === undefined
  return { event, isMissing, request }
}

/** An event in words, with what can still be bought of it. */
export const EventOfAction = ({ event }: { readonly event: EventRow }) => {
  const [word, tone] = stateOf(event, event.stats?.triggered)
  return (
    <section class="card entity" aria-label="The event">
      <p>
        <Link href={`/event/${event.chainId}/${event.id}`}>
          <strong>{conditionText(event)}</strong>
        </Link>{' '}
        <Pill tone={tone}>{word}</Pill> <small>{chainText(event.name)}</small>
      </p>
      <p>{termsText(event)}</p>
      {event.utilization && event.stats && (
        <Facts
          facts={[
            ['Liquidity', <Amount key="liquidity" value={event.stats.totalLiquidity} of={event} />],
            ['Capacity', <Amount key="capacity" value={event.utilization.availableCapacity} of={event} />],
          ]}
        />
      )}
    </section>
  )
}

type OwnEntityProps = { readonly kind: 'position' | 'deposit'; readonly chainId: string; readonly id: string }

/** A position or a deposit, and the event that it belongs to, in words. */
export const OwnEntity = ({ kind, chainId, id }: OwnEntityProps) => {
  const enabled = isId(id) && isId(chainId)
  const params = { chainId, ids: id, include: 'event' } as never
  const positions = useApi('/v1/hedge/positions', params, { enabled: enabled && kind === 'position' })
  const deposits = useApi('/v1/hedge/deposits', params, { enabled: enabled && kind === 'deposit' })
  const read = kind === 'position' ? positions : deposits
  const { data, isPlaceholderData } = read
  const failed = failedOf(read)
  if (failed !== null) return <Problem {...failed} />
  if (!enabled || data === undefined || isPlaceholderData) return null
  const [row] = data.data
  if (row === undefined) return <Empty>This chain has no such {kind}.</Empty>
  return (
    <section class="card entity" aria-label={`The ${kind}`}>
      <p>
        <Link href={`/${kind}/${chainId}/${id}`}>
          <strong>
            {kind === 'position' ? 'Position' : 'Deposit'} {id}
          </strong>
        </Link>{' '}
        <Amount value={'notional' in row ? row.notional : row.amount} of={row} /> in{' '}
        <Link href={`/event/${chainId}/${row.eventId}`}>
          {row.event ? conditionText(row.event) : `event ${row.eventId}`}
        </Link>
      </p>
    </section>
  )
}

/** The most records to choose from. */
const limit = 100

const openEvents = { state: 'open', poolOpen: 'true', sort: 'expiry', order: 'asc' }

/** The events that an action makes sense for; those of the creator where it is not listed. */
const eventFilters: Readonly<Partial<Record<ActionName, Readonly<Record<string, string>>>>> = {
  'buy-protection': { ...openEvents, capacityFrom: '1' },
  deposit: openEvents,
  'submit-rate': { state: 'expired' },
}

/** Why there is nothing to choose from. */
const nothing: Readonly<Record<EntityKind, string>> = {
  event: 'No event on this chain fits. You can type a number.',
  position: 'This wallet has no position on this chain that pays out. You can type a number.',
  deposit: 'This wallet has no deposit on this chain with something to claim. You can type a number.',
}

const filterOf = (action: ActionName, from: string): object | undefined => {
  const { entity } = actions[action]
  if (entity === undefined) return undefined
  if (entity === 'event' && eventFilters[action]) return eventFilters[action]
  if (!isAddress(from)) return undefined
  return entity === 'event' ? { creator: from } : { wallet: from, claimable: 'true', include: 'event' }
}

type Offered = {
  /** Names by id; undefined where a number has to be typed. */
  readonly choices: Readonly<Record<string, string>> | undefined
  readonly hint: string | undefined
  readonly request: Request
}

/** What an action can be about: events, or what the wallet has on a chain. */
export const useOffered = (action: ActionName, chainId: string, from: string): Offered => {
  const { entity } = actions[action]
  const filter = filterOf(action, from)
  const enabled = filter !== undefined && isId(chainId)
  const path = `/v1/hedge/${entity ?? 'event'}s` as '/v1/hedge/events'
  const request = useApi(path, { ...filter, chainId, limit } as never, { enabled })
  const none = { choices: undefined, hint: undefined, request }
  if (entity === undefined || !enabled || failedOf(request) !== null) return none
  const rows: readonly (EventRow | Owned)[] = (request.isPlaceholderData ? undefined : request.data?.data) ?? []
  if (rows.length === 0 && !request.isPlaceholderData && request.data !== undefined)
    return { ...none, hint: nothing[entity] }
  const named = rows.map((row) => [`${row.id}`, 'eventId' in row ? ownLabel(row) : eventLabel(row)] as const)
  return { choices: Object.fromEntries(named), hint: undefined, request }
}
