import { useSearchParams } from 'wouter-preact'
import { useChains } from '../api/chains.ts'
import { useApi } from '../api/queries.ts'
import { EventsTable } from '../parts/events-table.tsx'
import { Pager, usePages } from '../parts/pager.tsx'
import { Empty, Read } from '../parts/state.tsx'
import { useTitle } from '../parts/title.ts'
import { filterParams, orders, states } from '../text/event-filters.ts'
import { chainText } from '../text/terms.ts'

type ChoiceProps = {
  readonly label: string
  readonly value: string
  readonly choices: Readonly<Record<string, string>>
  readonly set: (value: string) => void
}

const Choice = ({ label, value, choices, set }: ChoiceProps) => (
  <label>
    {label}
    <select value={value} onChange={({ currentTarget }) => set(currentTarget.value)}>
      {Object.entries(choices).map(([choice, text]) => (
        <option key={choice} value={choice}>
          {text}
        </option>
      ))}
    </select>
  </label>
)

/** All events, with filters that are in the address of the page. */
export const EventsPage = () => {
  useTitle('Events')
  const [search, setSearch] = useSearchParams()
  const pages = usePages()
  const of = (name: string): string => search.get(name) ?? ''
  const set = (name: string) => (value: string) => {
    pages.reset()
    setSearch((given) => {
      const next = new URLSearchParams(given)
      if (value === '') next.delete(name)
      else next.set(name, value)
      return next
    })
  }
  const chains = Object.fromEntries(useChains().map(({ chainId, name }) => [`${chainId}`, name]))
  const filters = filterParams(search)
  const events = useApi(
    '/v1/hedge/events',
    {
      ...filters,
      ...{ include: 'stats,utilization', limit: 25, count: 'true' },
      ...(pages.cursor !== undefined && { cursor: pages.cursor }),
    } as never,
    { live: pages.number === 1 },
  )
  return (
    <>
      <h1>Events</h1>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label>
          Pair
          <input
            value={of('pair')}
            placeholder="USD/MXN"
            maxLength={32}
            onChange={({ currentTarget }) => set('pair')(currentTarget.value.trim().toUpperCase())}
          />
        </label>
        <Choice label="State" value={of('state')} choices={states} set={set('state')} />
        <Choice label="Chain" value={of('chain')} choices={{ '': 'Any chain', ...chains }} set={set('chain')} />
        <Choice
          label="Capacity"
          value={of('capacity')}
          choices={{ '': 'Any', yes: 'Can be bought' }}
          set={set('capacity')}
        />
        <Choice label="Order" value={filters.sort ?? ''} choices={orders} set={set('sort')} />
      </form>
      <Read of={events} lines={25} shape="rows">
        {({ data, meta }) => (
          <>
            <p class="muted">{meta.total === undefined ? '' : `${meta.total} events`}</p>
            {data.length === 0 ? (
              <Empty>
                {of('pair') === '' ? (
                  'No event matches these filters.'
                ) : (
                  <>
                    Nothing found for <q>{chainText(of('pair'))}</q>: try a pair such as USD/MXN, the address of a
                    wallet, or the hash of a transaction.
                  </>
                )}
              </Empty>
            ) : (
              <EventsTable rows={data} label="Events" />
            )}
            <Pager pages={pages} nextCursor={meta.nextCursor} />
          </>
        )}
      </Read>
    </>
  )
}
