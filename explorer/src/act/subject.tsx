import type { Row } from 'fx-protection-client'
import { Link } from 'wouter-preact'
import { useApi } from '../api/queries.ts'
import { stateOf } from '../parts/events-table.tsx'
import { Facts, Pill } from '../parts/facts.tsx'
import { Empty, Read } from '../parts/state.tsx'
import { Amount } from '../parts/values.tsx'
import { isId } from '../text/input.ts'
import { chainText, conditionText, termsText } from '../text/terms.ts'
import { type ActionName, actions } from './actions.ts'

export type EventRow = Row<'/v1/hedge/events'>

/** The event that an action is about; undefined without one. */
export const useEventOf = (chainId: string, id: string): { event: EventRow | undefined; isMissing: boolean } => {
  const enabled = isId(id) && isId(chainId)
  const params = { chainId, ids: id, include: 'stats,utilization' } as never
  const { data, isPlaceholderData } = useApi('/v1/hedge/events', params, { enabled, live: true })
  const event = enabled && !isPlaceholderData ? data?.data[0] : undefined
  return { event, isMissing: enabled && data !== undefined && !isPlaceholderData && event === undefined }
}

/** An event in words, with what can still be bought of it. */
export const EventSubject = ({ event }: { readonly event: EventRow }) => {
  const [word, tone] = stateOf(event, event.stats?.triggered)
  return (
    <section class="card subject" aria-label="The event">
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

type OwnSubjectProps = { readonly kind: 'position' | 'deposit'; readonly chainId: string; readonly id: string }

/** A position or a deposit, and the event that it belongs to, in words. */
export const OwnSubject = ({ kind, chainId, id }: OwnSubjectProps) => {
  const enabled = isId(id) && isId(chainId)
  const params = { chainId, ids: id, include: 'event' } as never
  const positions = useApi('/v1/hedge/positions', params, { enabled: enabled && kind === 'position' })
  const deposits = useApi('/v1/hedge/deposits', params, { enabled: enabled && kind === 'deposit' })
  const { data, isPlaceholderData } = kind === 'position' ? positions : deposits
  if (!enabled || data === undefined || isPlaceholderData) return null
  const [row] = data.data
  if (row === undefined) return <Empty>This chain has no such {kind}.</Empty>
  return (
    <section class="card subject" aria-label={`The ${kind}`}>
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

type Choice = { readonly chainId: number; readonly id: number; readonly label: string }
type Choose = (chainId: number, id: number) => void

type ChoicesProps = {
  readonly label: string
  readonly none: string
  readonly rows: readonly Choice[]
  readonly choose: Choose
}

const Choices = ({ label, none, rows, choose }: ChoicesProps) =>
  rows.length === 0 ? (
    <Empty>{none}</Empty>
  ) : (
    <ul class="plain choices" aria-label={label}>
      {rows.map(({ chainId, id, label: text }) => (
        <li key={`${chainId} ${id}`}>
          <button type="button" class="plain small" onClick={() => choose(chainId, id)}>
            {text}
          </button>
        </li>
      ))}
    </ul>
  )

/** The most records to choose from. */
const limit = 10

const isAddress = (address: string): boolean => /^0x[0-9a-fA-F]{40}$/.test(address)

const openEvents = { state: 'open', poolOpen: 'true', sort: 'expiry', order: 'asc' }

/** The events that an action makes sense for; those of the creator where it is not listed. */
const eventFilters: Readonly<Partial<Record<ActionName, Readonly<Record<string, string>>>>> = {
  'buy-protection': { ...openEvents, capacityFrom: '1' },
  deposit: openEvents,
  'submit-rate': { state: 'expired' },
}

type OwnProps = {
  readonly action: ActionName
  readonly chainId: string
  readonly from: string
  readonly choose: Choose
}

const EventChoices = ({ action, chainId, from, choose }: OwnProps) => {
  const filter = eventFilters[action] ?? (isAddress(from) ? { creator: from } : undefined)
  const events = useApi('/v1/hedge/events', { ...filter, chainId, limit } as never, {
    enabled: filter !== undefined && isId(chainId),
  })
  if (filter === undefined) return null
  return (
    <Read of={events}>
      {({ data }) => (
        <Choices
          label="Events"
          none="No event on this chain fits."
          rows={data.map((event) => ({ ...event, label: `${event.id}: ${conditionText(event)}` }))}
          choose={choose}
        />
      )}
    </Read>
  )
}

type OfWallet = { readonly chainId: number; readonly id: number; readonly eventId: number; readonly event?: Summary }
type Summary = Parameters<typeof conditionText>[0]

/** `66: USD/MXN above 19.2, event 9 on chain 8453`. */
const ownLabel = ({ chainId, id, eventId, event }: OfWallet): string =>
  `${id}: ${event === undefined ? '' : `${conditionText(event)}, `}event ${eventId} on chain ${chainId}`

const PositionChoices = ({ from, choose }: OwnProps) => {
  const positions = useApi('/v1/hedge/positions', { wallet: from, claimable: 'true', include: 'event', limit } as never)
  return (
    <Read of={positions}>
      {({ data }) => (
        <Choices
          label="Positions"
          none="This wallet has no position that pays out."
          rows={data.map((row) => ({ ...row, label: ownLabel(row) }))}
          choose={choose}
        />
      )}
    </Read>
  )
}

const DepositChoices = ({ from, choose }: OwnProps) => {
  const deposits = useApi('/v1/hedge/deposits', { wallet: from, claimable: 'true', include: 'event', limit } as never)
  return (
    <Read of={deposits}>
      {({ data }) => (
        <Choices
          label="Deposits"
          none="This wallet has no deposit with something to claim."
          rows={data.map((row) => ({ ...row, label: ownLabel(row) }))}
          choose={choose}
        />
      )}
    </Read>
  )
}

/** What an action can be about: events, or what the wallet holds. */
export const SubjectChoices = (own: OwnProps) => {
  const { subject } = actions[own.action]
  if (subject === 'event') return <EventChoices {...own} />
  if (subject === undefined || !isAddress(own.from)) return null
  return subject === 'position' ? <PositionChoices {...own} /> : <DepositChoices {...own} />
}
