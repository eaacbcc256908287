import { readFileSync } from 'node:fs'
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { ConfigError } from './config/load.ts'
import { errorText, OperatorError, ServiceError } from './lib/errors.ts'
import { nearest } from './lib/nearest.ts'
import { packaged } from './lib/root.ts'

/** A flag: the name of its value, if it takes one, and its purpose. */
type Flag = { readonly value?: string; readonly summary: string }

const common: Readonly<Record<string, Flag>> = {
  'env-file': { value: 'FILE', summary: 'read the environment from a file; variables already set take precedence' },
  help: { summary: 'print this text' },
  version: { summary: 'print the version of this program' },
}

type Values = Readonly<Record<string, string | boolean | undefined>>

type Command = {
  readonly summary: string
  /** The name of the command's operand, if it takes one. */
  readonly operand?: string
  readonly flags?: Readonly<Record<string, Flag>>
  readonly run: (flags: Values, operand: string | undefined) => Promise<void>
}

const text = (value: string | boolean | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined

/** Runs a command on webhook endpoints. */
const webhooks =
  (name: Parameters<typeof import('./compose/webhooks.ts').runWebhooks>[0]): Command['run'] =>
  async (flags, id) =>
    (await import('./compose/webhooks.ts')).runWebhooks(name, flags, id)

/** Each command imports its modules when it runs, so that a process loads nothing else. */
const commands: Readonly<Record<string, Command>> = {
  sandbox: {
    summary: 'run the whole system with embedded PostgreSQL, Redis and local chains',
    flags: {
      quiet: { summary: 'no live activity after the seeded scenario' },
      persist: { value: 'DIR', summary: 'keep the state in a folder and continue from it at the next start' },
    },
    run: async ({ quiet, persist }) =>
      (await import('./compose/sandbox.ts')).runSandbox({ quiet: quiet === true, persist: text(persist) }),
  },
  api: { summary: 'run the HTTP API', run: async () => (await import('./compose/api.ts')).runApi() },
  worker: {
    summary: 'run the indexer and its jobs',
    run: async () => (await import('./compose/worker.ts')).runWorker(),
  },
  engine: {
    summary: 'run the pricing engine; the only process with a key',
    run: async () => (await import('./compose/engine.ts')).runEngine(),
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
    run: async (flags, pair) =>
      (await import('./compose/engine.ts')).runChart(pair, { ...flags, out: text(flags.out) }),
  },
  migrate: {
    summary: 'migrate the database to the schema of this version',
    run: async () => (await import('./compose/tools.ts')).runMigrate(),
  },
  audit: {
    summary: 'compare the index with the chains; exit 1 on a difference, 2 when something cannot be compared',
    run: async () => (await import('./compose/tools.ts')).runAudit(),
  },
  'changes reset': {
    summary: 'have every client of the feed of changes fetch everything again: see docs/operations.md',
    run: async () => (await import('./compose/tools.ts')).runChangesReset(),
  },
  'webhooks add': {
    summary: 'register an endpoint, and print its secret: see docs/operations.md',
    flags: {
      url: { value: 'URL', summary: 'where messages are posted' },
      types: {
        value: 'TYPES',
        summary: 'what it gets, separated by commas, such as settlement.settled,wallet.changed',
      },
      chains: { value: 'IDS', summary: 'only of these chains' },
      wallets: { value: 'ADDRESSES', summary: 'only of these wallets, and settlements of their events' },
      events: { value: 'IDS', summary: 'only of these events, of one chain' },
    },
    run: webhooks('add'),
  },
  'webhooks list': { summary: 'list the endpoints and how they are', run: webhooks('list') },
  'webhooks ping': { summary: 'send a test message now', operand: 'ID', run: webhooks('ping') },
  'webhooks rotate': {
    summary: 'replace the secret; the old one signs for 24 more hours',
    operand: 'ID',
    run: webhooks('rotate'),
  },
  'webhooks pause': { summary: 'stop deliveries', operand: 'ID', run: webhooks('pause') },
  'webhooks resume': { summary: 'continue deliveries', operand: 'ID', run: webhooks('resume') },
  'webhooks remove': { summary: 'remove an endpoint with its deliveries', operand: 'ID', run: webhooks('remove') },
  'webhooks deliveries': {
    summary: 'list the newest 100 deliveries of an endpoint',
    operand: 'ID',
    flags: { state: { value: 'STATE', summary: 'waiting, delivered or dead' } },
    run: webhooks('deliveries'),
  },
  'webhooks replay': {
    summary: 'send deliveries once more; those that are dead, without an option',
    operand: 'ID',
    flags: {
      message: { value: 'ID', summary: 'one message, by its webhook-id' },
      since: { value: 'TIME', summary: 'all that ended at this time or later' },
    },
    run: webhooks('replay'),
  },
  openapi: {
    summary: "write the API's description to docs/openapi.json",
    flags: {
      check: { summary: 'write nothing; exit 1 when the file differs from the description that the API serves' },
    },
    run: async ({ check }) => (await import('./compose/api.ts')).runOpenapi({ check: check === true }),
  },
  help: { summary: 'print this text', run: async () => console.log(usage()) },
}

const PROGRAM = 'node dist/cli.js'
const ENVIRONMENT = 'The environment of each command is described in .env.example.'

const rows = (lines: readonly (readonly [string, string])[]): string[] => {
  const width = Math.max(...lines.map(([name]) => name.length))
  return lines.map(([name, summary]) => `  ${name.padEnd(width)}  ${summary}`)
}

const flagRows = (flags: Readonly<Record<string, Flag>>): string[] =>
  rows(Object.entries(flags).map(([name, { value, summary }]) => [`--${name}${value ? ` ${value}` : ''}`, summary]))

const usage = (): string =>
  [
    `usage: ${PROGRAM} COMMAND [OPTIONS]`,
    ...rows(Object.entries(commands).map(([name, { summary }]) => [name, summary])),
    'options of every command:',
    ...flagRows(common),
    ENVIRONMENT,
  ].join('\n')

const usageOf = (name: string, { summary, operand, flags }: Command): string =>
  [
    `usage: ${PROGRAM} ${name}${operand ? ` ${operand}` : ''} [OPTIONS]`,
    `  ${summary}`,
    'options:',
    ...flagRows({ ...flags, ...common }),
    ENVIRONMENT,
  ].join('\n')

const versionOf = (): string => {
  const { version } = JSON.parse(readFileSync(packaged('package.json'), 'utf8'))
  return String(version)
}

const optionsOf = (flags: Readonly<Record<string, Flag>>): NonNullable<ParseArgsConfig['options']> =>
  Object.fromEntries(
    Object.entries(flags).map(([name, { value }]) => [name, { type: value === undefined ? 'boolean' : 'string' }]),
  )

/** An unknown command or option, with the most similar known one and the command that lists all. */
const unknown = (what: string, word: string, known: readonly string[], help: string): ConfigError => {
  const meant = nearest(word, known)
  return new ConfigError(`unknown ${what} ${word}: ${meant ? `did you mean ${meant}? ` : ''}${help} lists all`)
}

const everyFlag = Object.assign({}, common, ...Object.values(commands).map(({ flags }) => flags))

const main = async (): Promise<void> => {
  const { positionals, tokens } = parseArgs({
    allowPositionals: true,
    strict: false,
    tokens: true,
    options: optionsOf(everyFlag),
  })
  const words = Object.hasOwn(commands, positionals.slice(0, 2).join(' ')) ? 2 : 1
  const name = positionals.slice(0, words).join(' ') || 'help'
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command === undefined) throw unknown('command', name, Object.keys(commands), `${PROGRAM} help`)
  const flags = { ...command.flags, ...common }
  const listed = name === 'help' ? `${PROGRAM} --help` : `${PROGRAM} ${name} --help`
  for (const token of tokens) {
    if (token.kind !== 'option' || Object.hasOwn(flags, token.name)) continue
    const known = Object.keys(flags).map((flag) => `--${flag}`)
    throw unknown(`option of ${name}:`, token.rawName, known, listed)
  }
  const { values } = parseArgs({ allowPositionals: true, options: optionsOf(flags) })
  if (values.version === true) return console.log(versionOf())
  if (values.help === true) return console.log(name === 'help' ? usage() : usageOf(name, command))
  const most = words + (command.operand === undefined ? 0 : 1)
  const [extra] = positionals.slice(most)
  if (extra !== undefined)
    throw new ConfigError(`${name} takes no ${JSON.stringify(extra)}: run ${listed} for its usage`)
  const { 'env-file': envFile, ...own } = values
  if (typeof envFile === 'string') loadEnvFile(envFile)
  await command.run(own as Values, positionals[words])
}

const loadEnvFile = (path: string): void => {
  try {
    process.loadEnvFile(path)
  } catch (cause) {
    throw new ConfigError(`--env-file ${path} cannot be read (${errorText(cause)}): name an existing, readable file`, {
      cause,
    })
  }
}

/** Faults of the command line and the environment, which the operator can fix. They exit with code 2. */
const isMisuse = (error: unknown): error is Error =>
  (error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS_')) ||
  error instanceof ConfigError ||
  (error instanceof ServiceError && error.code === 'validation_error')

main().catch((error: unknown) => {
  const explained = isMisuse(error) || error instanceof OperatorError || error instanceof ServiceError
  console.error(explained ? error.message : error)
  process.exitCode = isMisuse(error) ? 2 : 1
})
