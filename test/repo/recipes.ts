/** One insertion: `text` goes behind the first `anchor` of the file, or is a new file without one. */
export type Edit = { readonly file: string; readonly anchor?: string; readonly text: string }

/** Changes that follow the recipes of CONTRIBUTING.md, by their headings there. */
export const recipes: Readonly<Record<string, readonly Edit[]>> = {
  'Add a builder': [
    {
      file: 'src/tx/builders.ts',
      anchor: 'export const builders: readonly Builder[] = [',
      text: `
  { path: '/tx/hedge/example-pause', function: 'examplePause', summary: 'Pause, as an example (owner)' },`,
    },
    {
      file: 'test/vectors/specification.ts',
      anchor: 'const furtherBuilders: Readonly<Record<string, string>> = {',
      text: `
  '/tx/hedge/example-pause': 'examplePause()',
`,
    },
    {
      file: 'test/examples/requests.ts',
      anchor: '    getMe: none,',
      text: `
    buildExamplePause: { body: ofOwner },`,
    },
  ],
  'Add a type of webhook': [
    {
      file: 'src/db/schema/webhooks.ts',
      anchor: "'event.changed': { feed: 'event', filters: ['events'] },",
      text: `
  'example.changed': { feed: 'protocol', filters: [] },`,
    },
    {
      file: 'src/compose/commands/commands.ts',
      anchor: 'wallet.changed, event.changed',
      text: ', example.changed',
    },
    {
      file: 'client/src/webhooks.ts',
      anchor: "Of<'wallet.changed' | 'event.changed'",
      text: " | 'example.changed'",
    },
    {
      file: 'docs/guide/webhooks.md',
      anchor: 'what changed of an event. Fetch the event            |',
      text: `
| \`example.changed\`      | an item of \`GET /v1/changes\`: what changed of the protocol                        |`,
    },
  ],
  'Add a metric with an alert': [
    {
      file: 'src/api/plugins/metrics.ts',
      anchor: 'const rows: readonly Row[] = [',
      text: `
  ['fx_example_refused_total', 'Waits that were refused, as an example', ({ waits }) => waits.counts().refused],`,
    },
    {
      file: 'deploy/prometheus/alerts.yml',
      anchor: '  - name: api\n    rules:\n',
      text: `      - alert: ExampleRefused
        expr: 'rate(fx_example_refused_total[5m]) > 1'
        for: 5m
        labels: { severity: warning }
        annotations:
          summary: "waits are refused, as an example"
          runbook_url: "{{ $externalLabels.runbook }}#examplerefused"
`,
    },
    {
      file: 'deploy/prometheus/alerts.test.yml',
      anchor: '\ntests:\n',
      text: `  - name: ExampleRefused
    interval: 1m
    external_labels: { runbook: "https://example.com/runbook.md" }
    input_series:
      - { series: 'fx_example_refused_total{job="api"}', values: "0x10 120+120x10" }
    alert_rule_test:
      - { alertname: ExampleRefused, eval_time: 10m, exp_alerts: [] }
      - alertname: ExampleRefused
        eval_time: 20m
        exp_alerts:
          - exp_labels: { severity: warning, job: api }
            exp_annotations:
              summary: "waits are refused, as an example"
              runbook_url: "https://example.com/runbook.md#examplerefused"
`,
    },
    {
      file: 'docs/runbook.md',
      anchor: '\n## API\n',
      text: `
### ExampleRefused

Waits are refused, as an example.
`,
    },
  ],
  'Add a plan action': [
    {
      file: 'src/plans/actions/example-pause.ts',
      text: `import { callAction } from '../draft/definition.ts'

export const examplePause = callAction({
  summary: 'pause, as an example',
  description: 'Pauses the protocol, as an example.',
  function: 'pause',
  entity: null,
  checks: [],
  sentence: () => 'pause the protocol',
})
`,
    },
    {
      file: 'src/plans/actions/table.ts',
      anchor: "import { deposit } from './deposit.ts'",
      text: `
import { examplePause } from './example-pause.ts'`,
    },
    {
      file: 'src/plans/actions/table.ts',
      anchor: "  'submit-rate': submitRate,",
      text: `
  'example-pause': examplePause,`,
    },
    {
      file: 'explorer/src/act/actions.ts',
      anchor: 'export const actions: Readonly<Record<ActionName, Action>> = {',
      text: `
  'example-pause': { title: 'Pause', about: 'An example.', who: 'Every wallet', fields: ['chainId'] },`,
    },
    {
      file: 'test/examples/plans.ts',
      anchor: "    '/v1/plans/claim-all': { chainId, from: addressOf('lp') },",
      text: `
    '/v1/plans/example-pause': { chainId, from: addressOf('owner') },`,
    },
  ],
  'Add a read': [
    {
      file: 'src/reads/entities/view-sets.ts',
      anchor: "    oracles: () => call('getOracles'),",
      text: `
    feesInitialized: () => call('isFeesInitialized'),`,
    },
    {
      file: 'src/reads/table/table.ts',
      anchor: '  Protocol: [',
      text: `
    entity('/hedge/example-fees-initialized/:chainId', 'Whether the fees are set, as an example', {
      data: z.boolean(),
      of: viewSet.administration,
      views: ['feesInitialized'],
      record: ({ feesInitialized }) => feesInitialized,
    }),`,
    },
    {
      file: 'test/vectors/specification.ts',
      anchor: 'export const extensions = [',
      text: `
  'GET /hedge/example-fees-initialized/{chainId}',`,
    },
    {
      file: 'test/examples/requests.ts',
      anchor: '    getMe: none,',
      text: `
    getHedgeExampleFeesInitialized: { path },`,
    },
  ],
  'Add a read with a database fallback': [
    {
      file: 'src/reads/entities/view-sets.ts',
      anchor: 'const storedEvent = (queries: Queries, { chainId, id }: OfId) => queries.event(chainId, BigInt(id))',
      text: `

/** The token of an event's amounts. */
export const exampleToken = viewSet<OfId>()({
  views: { token: ({ id }: OfId) => call('getEventPaymentToken', [BigInt(id)]) },
  existence: { ...eventExists, view: 'token', holds: ({ token }) => token !== zeroAddress },
  stored: (queries, { chainId, id }) => queries.exampleToken(chainId, BigInt(id)),
  resource: eventOf,
})`,
    },
    {
      file: 'src/reads/table/table.ts',
      anchor: '  Events: [',
      text: `
    entity('/hedge/events/:chainId/:id/example-token', "The token of an event's amounts, as an example", {
      data: Account,
      of: viewSet.exampleToken,
      views: ['token'],
      record: ({ token }) => token,
    }),`,
    },
    {
      file: 'src/db/queries/entities.ts',
      anchor: "import * as t from '../schema/records.ts'",
      text: `
import { exampleTokenOf, rowsById } from '../stored.ts'`,
    },
    {
      file: 'src/db/queries/entities.ts',
      anchor: "    position: entityOf('position'),",
      text: `
    async exampleToken(chainId: ChainId, id: bigint) {
      const rows = await database.run((it) => rowsById<ObservationRow<'event'>>(it, t.eventObservations, chainId, [id]))
      const row = rows.get(id)
      return row === undefined ? null : exampleTokenOf(row)
    },`,
    },
    {
      file: 'src/db/stored.ts',
      anchor: "import * as t from './schema/records.ts'",
      text: `

/** An event's token in the shape of its view. */
export const exampleTokenOf = (seen: ObservationRow<'event'>) => ({
  token: seen.paymentToken,
  observedAt: storedBlock(seen),
})`,
    },
    {
      file: 'test/vectors/specification.ts',
      anchor: 'export const extensions = [',
      text: `
  'GET /hedge/events/{chainId}/{id}/example-token',`,
    },
    {
      file: 'test/examples/requests.ts',
      anchor: '    getMe: none,',
      text: `
    getHedgeEventsExampleTokenById: ofEvent,`,
    },
  ],
  'Follow another log': [
    {
      file: 'src/protocol/abi/logs.ts',
      anchor: "  Paused: touchesAll('chain'),",
      text: `
  OracleAdded: touchesAll('chain'),`,
    },
  ],
  'Add a column': [
    {
      file: 'src/db/schema/records.ts',
      anchor: 'export const eventStateColumns = {',
      text: `
  exampleTotal: uint256('example_total').notNull().default(sql\`0\`),`,
    },
    {
      file: 'src/protocol/history/fold.ts',
      anchor: '...{ totalLiquidity, totalExposure, totalPremiums, totalMaxPayout },',
      text: `
        exampleTotal: totalLiquidity + totalPremiums,`,
    },
    {
      file: 'src/protocol/records.ts',
      anchor: "    settledAt: UnixSeconds.meta({ description: 'Unix seconds; 0 until settled' }),",
      text: `
    exampleTotal: Amount,`,
    },
    {
      file: 'src/protocol/records.ts',
      anchor: '  settledAt: clamped(stats.settledAt),',
      text: `
  exampleTotal: decimal(stats.exampleTotal),`,
    },
  ],
  'Add a column of a new view': [
    {
      file: 'src/protocol/entities.ts',
      anchor: "views: { deposit: 'getHedgeLpDeposit',",
      text: " exampleBonus: 'getExampleBonus',",
    },
    {
      file: 'src/db/schema/records.ts',
      anchor: 'export const depositStateColumns = {',
      text: `
  exampleBonus: uint256('example_bonus').notNull().default(sql\`0\`),`,
    },
    {
      file: 'src/db/index/observations.ts',
      anchor: 'deposits: seen.deposits.map(({ deposit,',
      text: ' exampleBonus,',
    },
    { file: 'src/db/index/observations.ts', anchor: '({ chainId, ...deposit,', text: ' exampleBonus,' },
    {
      file: 'src/db/stored.ts',
      anchor: 'deposit: (fact, seen) => ({',
      text: ' exampleBonus: seen.exampleBonus,',
    },
    {
      file: 'src/protocol/history/fold.ts',
      anchor: 'return { premiumsEarned, premiumsClaimed: claimed,',
      text: ' exampleBonus: earned,',
    },
    {
      file: 'src/protocol/records.ts',
      anchor: '  premiumsEarned: Amount,',
      text: `
  exampleBonus: Amount,`,
    },
    { file: 'src/protocol/records.ts', anchor: 'export const deposit = ({ deposit: view,', text: ' exampleBonus,' },
    {
      file: 'src/protocol/records.ts',
      anchor: '  premiumsEarned: decimal(BigInt(view.premiumsClaimed) + BigInt(pending)),',
      text: `
  exampleBonus: decimal(exampleBonus),`,
    },
    {
      file: 'src/reads/entities/view-sets.ts',
      anchor: '{ deposit: { ...now.deposit, ...state }, pending: state.pending',
      text: ', exampleBonus: state.exampleBonus',
    },
    { file: 'src/reads/table/table.ts', anchor: "views: ['deposit',", text: " 'exampleBonus'," },
  ],
  'Add a filter of a list': [
    {
      file: 'src/reads/lists/query.ts',
      anchor: 'export const EventsQuery = listQuery({',
      text: `
  exampleOpenToOthers: Flag.optional().meta({ description: 'The value of \`allowExternalLp\`, as an example' }),`,
    },
    {
      file: 'src/reads/lists/listings.ts',
      anchor: 'owners: query.wallet ?? query.creator,',
      text: `
    exampleOpenToOthers: query.exampleOpenToOthers,`,
    },
    {
      file: 'src/reads/lists/listings.ts',
      anchor: "requireAlone(query, ['claimable',",
      text: " 'exampleOpenToOthers',",
    },
    {
      file: 'src/db/queries/filters.ts',
      anchor: 'const conditions = {',
      text: `
  exampleOpenToOthers: (wanted: boolean, bind) => \`e.allow_external_lp = \${bind(wanted, 'boolean')}\`,`,
    },
  ],
  'Add a chain': [],
}

/** What `npm run contracts` (two functions, an output of a view) and `npm run examples` would generate. */
export const generated: readonly Edit[] = [
  {
    file: 'src/abi/protocol.generated.ts',
    anchor: 'export const protocolAbi = [',
    text: `
  { "type": "function", "name": "examplePause", "inputs": [], "outputs": [], "stateMutability": "nonpayable" },
  {
    "type": "function",
    "name": "getExampleBonus",
    "inputs": [{ "name": "_depositId", "type": "uint256" }],
    "outputs": [{ "name": "bonus", "type": "uint256" }],
    "stateMutability": "view"
  },`,
  },
  {
    file: 'src/abi/protocol.generated.ts',
    anchor: '"name": "hedgerCount",\n        "type": "uint256"\n      }',
    text: `,
      {
        "name": "exampleTotal",
        "type": "uint256"
      }`,
  },
  {
    file: 'docs/examples.json',
    anchor: '{',
    text: `
  "buildExamplePause": { "body": { "chainId": 8453 }, "response": {} },
  "planExamplePause": { "body": { "chainId": 8453 }, "response": {} },
  "getHedgeExampleFeesInitialized": { "path": { "chainId": 8453 }, "response": {} },
  "getHedgeEventsExampleTokenById": { "path": { "chainId": 8453, "id": 2 }, "response": {} },`,
  },
]
