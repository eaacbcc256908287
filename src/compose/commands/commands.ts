import type { Flags } from '../flags.ts'

/** A flag: the name of its value, if it takes one, and its purpose. */
export type Flag = { readonly value?: string; readonly summary: string }

export type Command = {
  readonly summary: string
  /** The name of the command's operand, if it takes one. */
  readonly operand?: string
  readonly flags?: Readonly<Record<string, Flag>>
  /** It writes nothing but its log. */
  readonly isService?: true
  readonly run: (flags: Flags, operand: string | undefined) => Promise<void>
}

const text = (value: string | boolean | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined

/** Runs a command on webhook endpoints. */
const webhooks =
  (name: Parameters<typeof import('../webhooks/commands.ts').runWebhooks>[0]): Command['run'] =>
  async (flags, id) =>
    (await import('../webhooks/commands.ts')).runWebhooks(name, flags, id)

/** Runs a command on the keys of integrators. */
const keys =
  (name: Parameters<typeof import('../webhooks/keys.ts').runKeys>[0]): Command['run'] =>
  async (flags, id) =>
    (await import('../webhooks/keys.ts')).runKeys(name, flags, id)

/** Each command imports its modules when it runs, so that a process loads nothing else. */
export const programs: Readonly<Record<string, Command>> = {
  sandbox: {
    summary: 'run the whole system with embedded PostgreSQL, Redis and local chains',
    flags: {
      quiet: { summary: 'no live activity after the seeded scenario' },
      persist: { value: 'DIR', summary: 'keep the state in a folder and continue from it at the next start' },
    },
    run: async ({ quiet, persist }) =>
      (await import('./sandbox.ts')).runSandbox({ quiet: quiet === true, persist: text(persist) }),
  },
  api: {
    summary: 'run the HTTP API',
    isService: true,
    run: async () => (await import('../api.ts')).runApi(),
  },
  worker: {
    summary: 'run the indexer and its jobs',
    isService: true,
    run: async () => (await import('../worker.ts')).runWorker(),
  },
  engine: {
    summary: 'run the pricing engine; the only process with a key',
    isService: true,
    run: async () => (await import('../engine.ts')).runEngine(),
  },
  'engine chart': {
    summary: 'draw a quote as a picture, to stdout: see docs/pricing.md',
    operand: 'PAIR',
    flags: {
      strike: { value: 'RATE', summary: 'the rate at which the payout begins' },
      'payout-cap': { value: 'RATE', summary: 'the rate at which the payout is greatest' },
      expiry: { value: 'DAY', summary: 'the day on which the protection ends, YYYY-MM-DD' },
      notional: { value: 'AMOUNT', summary: 'the protected amount, in dollars' },
      below: { summary: 'pay when the rate falls; default: when it rises' },
      at: { value: 'DAY', summary: 'the day of the quote; default: today' },
      out: { value: 'FILE.svg', summary: 'write to a file' },
    },
    run: async (flags, pair) => (await import('../engine.ts')).runChart(pair, { ...flags, out: text(flags.out) }),
  },
  'engine market': {
    summary:
      'show the rates that the engine prices with; exit 1 when some cannot be read or are too old: see docs/operations/rates.md',
    flags: {
      fetch: { value: 'DIR', summary: 'first write the rates of the configured publishers to a folder of rates' },
    },
    run: async (flags) => (await import('./market.ts')).runMarket(text(flags.fetch)),
  },
  migrate: {
    summary: 'migrate the database to the schema of this version',
    run: async () => (await import('./tools.ts')).runMigrate(),
  },
  audit: {
    summary: 'compare the index with the chains; exit 1 on a difference, 2 when something cannot be compared',
    run: async () => (await import('./tools.ts')).runAudit(),
  },
  reindex: {
    summary: 'make tables again from the logs in the database: see docs/operations/reindex.md',
    flags: {
      chain: { value: 'IDS', summary: 'only these chains, separated by commas' },
      table: {
        value: 'NAMES',
        summary: 'only some of events, deposits, positions, fee_rates, settlement_logs, ledger',
      },
      check: { summary: 'change nothing, and exit 1 when a row differs' },
    },
    run: async (flags) => (await import('./reindex.ts')).runReindex(flags),
  },
  carry: {
    summary: 'copy to a rebuilt database what no chain has, such as webhooks: see docs/operations/reindex.md',
    run: async () => (await import('./carry.ts')).runCarry(),
  },
  export: {
    summary: 'write final days as Parquet files: see docs/operations/export.md',
    flags: {
      out: { value: 'DIR', summary: 'the folder of the files' },
      chain: { value: 'IDS', summary: 'only these chains, separated by commas' },
      table: {
        value: 'NAMES',
        summary: 'only some of activity, deposits, event_days, events, positions, settlements, token_days',
      },
      from: { value: 'DAY', summary: 'the first day, YYYY-MM-DD in UTC; default: that of the first log' },
      to: { value: 'DAY', summary: 'the last day; default: the last one whose blocks are all final' },
      verify: { summary: 'compare the files with the index, change none, and exit 1 when one differs' },
      repair: { summary: 'the same, and replace the files that differ' },
    },
    run: async (flags) => (await import('./export.ts')).runExport(flags),
  },
  'changes reset': {
    summary: 'have every client of the feed of changes fetch everything again: see docs/operations/backup.md',
    run: async () => (await import('./tools.ts')).runChangesReset(),
  },
  'webhooks add': {
    summary: 'register an endpoint, and print its secret: see docs/operations/operate.md',
    flags: {
      url: { value: 'URL', summary: 'where messages are posted' },
      types: {
        value: 'TYPES',
        summary:
          'settlement.settled, settlement.reverted, settlement.finalized, activity.recorded, activity.reverted, wallet.changed, event.changed; separated by commas',
      },
      chains: { value: 'IDS', summary: 'only of these chains' },
      wallets: {
        value: 'ADDRESSES',
        summary: 'activity and changes of these wallets, and settlements of their events',
      },
      events: { value: 'IDS', summary: 'changes and settlements of these events, with one chain in --chains' },
    },
    run: webhooks('add'),
  },
  'webhooks list': { summary: 'list the endpoints, their filters and their state', run: webhooks('list') },
  'webhooks ping': { summary: 'send a test message now', operand: 'ID', run: webhooks('ping') },
  'webhooks rotate': {
    summary: 'replace the secret; the old one signs for 24 more hours',
    operand: 'ID',
    flags: { 'end-previous': { summary: 'rotate although two secrets sign: the older of them ends at once' } },
    run: webhooks('rotate'),
  },
  'webhooks pause': { summary: 'stop deliveries', operand: 'ID', run: webhooks('pause') },
  'webhooks resume': {
    summary: 'continue deliveries now, first with the dead messages',
    operand: 'ID',
    flags: { 'leave-dead': { summary: 'do not send the dead messages again' } },
    run: webhooks('resume'),
  },
  'webhooks remove': { summary: 'remove an endpoint with its deliveries', operand: 'ID', run: webhooks('remove') },
  'webhooks deliveries': {
    summary: 'list the newest 100 deliveries of an endpoint',
    operand: 'ID',
    flags: { state: { value: 'STATE', summary: 'waiting, delivered or dead' } },
    run: webhooks('deliveries'),
  },
  'webhooks replay': {
    summary: 'send the dead messages again, or with an option delivered ones too',
    operand: 'ID',
    flags: {
      message: { value: 'ID', summary: 'only this message, by its webhook-id' },
      since: { value: 'TIME', summary: 'all that were delivered or became dead since this time, in ISO 8601' },
    },
    run: webhooks('replay'),
  },
  'keys add': {
    summary: 'make a key for an integrator, and print it: see docs/operations/operate.md',
    flags: { name: { value: 'NAME', summary: 'whose key it is' } },
    run: keys('add'),
  },
  'keys list': { summary: 'list the keys, their names and the number of their endpoints', run: keys('list') },
  'keys rotate': { summary: 'replace a key; the old one ends at once', operand: 'ID', run: keys('rotate') },
  'keys remove': {
    summary: 'remove a key with its webhook endpoints and their deliveries',
    operand: 'ID',
    run: keys('remove'),
  },
  openapi: {
    summary: "write the API's description to docs/openapi.json",
    flags: {
      check: { summary: 'write nothing; exit 1 when the file differs from the description that the API serves' },
    },
    run: async ({ check }) => (await import('../api.ts')).runOpenapi({ check: check === true }),
  },
}
