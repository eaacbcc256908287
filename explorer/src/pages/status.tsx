import type { Schemas } from 'fx-protection-client'
import { useChainName } from '../api/chains.ts'
import { useApi } from '../api/queries.ts'
import { SeriesChart } from '../charts/series-chart.tsx'
import { CodeText } from '../parts/code-text.tsx'
import { Facts, Pill, Tile, type Tone } from '../parts/facts.tsx'
import { Empty, Read } from '../parts/state.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { Time, Transaction } from '../parts/values.tsx'
import { durationText } from '../text/time.ts'

type ChainStatus = Schemas['ChainStatus']
type Endpoint = Schemas['Endpoint']
type Check = ChainStatus['checks'][number]

const states: Readonly<Record<ChainStatus['state'], readonly [words: string, tone: Tone]>> = {
  following: ['up to date', 'good'],
  'catching up': ['catching up', 'warn'],
  stuck: ['stuck', 'bad'],
  halted: ['the chain makes no blocks', 'warn'],
  unknown: ['not known', 'bad'],
}

const ranks: Readonly<Record<string, Tone>> = { ok: 'good', lagging: 'warn', stale: 'warn', paused: 'warn' }

/** What each check is about. */
const checks: Readonly<Record<Check['check'], string>> = {
  nodes: 'Chain of the nodes',
  startBlock: 'First block',
  functions: 'Functions of the contracts',
  profile: 'Kind of deployment',
  tokens: 'Decimals of the tokens',
  paymentTokens: 'Tokens allowed as payment',
  signer: 'Signer of quotes',
  signing: 'Signing of quotes',
}

const results: Readonly<Record<Check['result'], readonly [word: string, tone: Tone]>> = {
  pass: ['in order', 'good'],
  fail: ['wrong', 'bad'],
  pending: ['not known yet', 'plain'],
}

const sources = { logs: 'logs of the contracts', ids: 'ids of records, since no node has logs' } as const

const secondsText = (seconds: number | null): string => (seconds === null ? 'not known' : durationText(seconds))

const endpointColumns: readonly Column<Endpoint & { readonly seenBy: string }>[] = [
  { title: 'Node', cell: ({ index }) => index + 1 },
  { title: 'Seen by', cell: ({ seenBy }) => seenBy },
  { title: 'State', cell: ({ rank }) => <Pill tone={ranks[rank] ?? 'bad'}>{rank}</Pill> },
  { title: 'Block', number: true, cell: ({ height }) => height ?? '–' },
  { title: 'Not supported', cell: ({ missingCapabilities }) => missingCapabilities.join(', ') || 'none' },
  { title: 'Last fault', cell: ({ fault }) => fault?.slice(0, 120) ?? 'none' },
]

/** What operators look at: nodes, checks, queues. */
const Details = ({ chain }: { readonly chain: ChainStatus }) => {
  const { audit, observations, ledger, upgrade, heartbeat } = chain
  const endpoints = [
    ...chain.endpoints.worker.map((endpoint) => ({ ...endpoint, seenBy: 'worker' })),
    ...chain.endpoints.api.map((endpoint) => ({ ...endpoint, seenBy: 'this API process' })),
  ]
  return (
    <details>
      <summary>Details for operators</summary>
      <Facts
        facts={[
          ['Worker reported', heartbeat === null ? 'never' : <Time key="at" at={heartbeat.at} />],
          ['Reads', chain.source === null ? 'not known' : sources[chain.source]],
          ['Records to be read again', observations?.waiting ?? 'not known'],
          ['Blocks whose logs are still to be read', ledger?.unreadBlocks ?? 'not known'],
          [
            'Activity is complete from',
            ledger === null
              ? 'not known'
              : ledger.completeFrom === null
                ? 'the first block'
                : `block ${ledger.completeFrom}`,
          ],
          [
            'Audit',
            audit === null
              ? 'no run yet'
              : `${audit.compared} rows compared, ${audit.differences} differed, ${audit.repaired} repaired`,
          ],
          [
            'Contracts last changed',
            upgrade === null ? (
              'not known'
            ) : (
              <>
                <Time at={upgrade.at} /> <Transaction chainId={chain.chainId} hash={upgrade.transaction} />
              </>
            ),
          ],
          ...chain.checks.map(
            ({ check, result, fault }) =>
              [
                checks[check] ?? check,
                <span key={check}>
                  <Pill tone={results[result][1]}>{results[result][0]}</Pill> {fault?.slice(0, 300)}
                </span>,
              ] as const,
          ),
        ]}
      />
      <h3>Nodes</h3>
      <Table
        label="Nodes"
        columns={endpointColumns}
        rows={endpoints}
        keyOf={({ seenBy, index }) => `${seenBy} ${index}`}
      />
    </details>
  )
}

const Chain = ({ chain }: { readonly chain: ChainStatus }) => {
  const name = useChainName(chain.chainId)
  const [words, tone] = states[chain.state] ?? states.unknown
  return (
    <section class="card">
      <h2>
        {name} <Pill tone={tone}>{words}</Pill>
      </h2>
      {chain.alarms.map((alarm) => (
        <p key={alarm} class="problem" role="alert">
          {alarm.slice(0, 500)}
        </p>
      ))}
      <div class="tiles pairs">
        <Tile name="Behind the chain">{secondsText(chain.lagSeconds)}</Tile>
        <Tile name="Newest block read">{chain.indexedBlock ?? 'none'}</Tile>
        <Tile name="Verified at block">{chain.proven?.number ?? 'not yet'}</Tile>
        <Tile name="Wrong rows found">{chain.audit?.differences ?? 'not compared yet'}</Tile>
      </div>
      {chain.lags.length > 1 && (
        <SeriesChart
          label={`Seconds behind ${name} since the service was started`}
          times={chain.lags.map(({ at }) => at)}
          lines={[{ name: 'Seconds behind', values: chain.lags.map(({ lagSeconds }) => lagSeconds) }]}
          height={110}
          clock
        />
      )}
      <Details chain={chain} />
    </section>
  )
}

const Webhooks = ({ webhooks }: { readonly webhooks: Schemas['WebhooksStatus'] | null }) =>
  webhooks === null ? null : (
    <section class="card">
      <h2>Webhooks</h2>
      <Facts
        facts={[
          ['Endpoints', webhooks.endpoints],
          ['Messages that wait', webhooks.waiting],
          ['Failing', webhooks.failing.length === 0 ? 'none' : webhooks.failing.map(({ id }) => id).join(', ')],
        ]}
      />
    </section>
  )

const Releases = () => {
  const changelog = useApi('/v1/changelog', {})
  return (
    <section class="card">
      <h2>Releases</h2>
      <Read of={changelog}>
        {({ data }) => (
          <ul class="plain">
            {data.slice(0, 5).map(({ version, date, changes }) => (
              <li key={version}>
                <details>
                  <summary>
                    {date === null ? 'Not released yet' : `${version}, ${date}`}: {changes.length} changes
                  </summary>
                  <ul>
                    {changes.slice(0, 100).map((change) => (
                      <li key={change}>
                        <CodeText text={change} />
                      </li>
                    ))}
                  </ul>
                </details>
              </li>
            ))}
          </ul>
        )}
      </Read>
    </section>
  )
}

/** Whether the service is up to date and proven, per chain; what operators need is folded. */
export const StatusPage = () => {
  const status = useApi('/status', {}, { live: true })
  return (
    <Read of={status} shape="page">
      {({ data }) => {
        const good = data.chains.every(({ state, alarms }) => state === 'following' && alarms.length === 0)
        return (
          <>
            <h1>
              Status{' '}
              <Pill tone={good && data.alarms.length === 0 ? 'good' : 'warn'}>
                {good ? 'all is well' : 'see below'}
              </Pill>
            </h1>
            <p class="lead">
              This service keeps a copy of what the contracts have on each chain, and compares the two all the time.
              Release {data.release}.
            </p>
            {data.alarms.map((alarm) => (
              <p key={alarm} class="problem" role="alert">
                {alarm.slice(0, 500)}
              </p>
            ))}
            {data.chains.length === 0 ? (
              <Empty>No chain is configured.</Empty>
            ) : (
              <div class="columns">
                {data.chains.map((chain) => (
                  <Chain key={chain.chainId} chain={chain} />
                ))}
              </div>
            )}
            <div class="columns">
              <Webhooks webhooks={data.webhooks} />
              <Releases />
            </div>
          </>
        )
      }}
    </Read>
  )
}
