import { readFileSync } from 'node:fs'
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { ConfigError } from './config/load.ts'
import { errorText, OperatorError, ServiceError } from './lib/errors.ts'
import { nearest } from './lib/nearest.ts'
import { packaged } from './lib/root.ts'

const PROGRAM = 'node dist/cli.js'
const ENVIRONMENT = 'The environment of each command is described in .env.example.'

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
  /** It writes nothing but its log. */
  readonly isService?: true
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
const programs: Readonly<Record<string, Command>> = {
  sandbox: {
    summary: 'run the whole system with embedded PostgreSQL, Redis and local chains',
    flags: {
      quiet: { summary: 'no live activity after the seeded scenario' },
      persist: { value: 'DIR', summary: 'keep the state in a folder and continue from it at the next start' },
    },
    run: async ({ quiet, persist }) =>
      (await import('./compose/sandbox.ts')).runSandbox({ quiet: quiet === true, persist: text(persist) }),
  },
  api: {
    summary: 'run the HTTP API',
    isService: true,
    run: async () => (await import('./compose/api.ts')).runApi(),
  },
  worker: {
    summary: 'run the indexer and its jobs',
    isService: true,
    run: async () => (await import('./compose/worker.ts')).runWorker(),
  },
  engine: {
    summary: 'run the pricing engine; the only process with a key',
    isService: true,
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
        summary:
          'settlement.settled, settlement.reverted, settlement.finalized, wallet.changed, event.changed; separated by commas',
      },
      chains: { value: 'IDS', summary: 'only of these chains' },
      wallets: { value: 'ADDRESSES', summary: 'changes of these wallets, and settlements of their events' },
      events: { value: 'IDS', summary: 'changes and settlements of these events, with one chain in --chains' },
    },
    run: webhooks('add'),
  },
  'webhooks list': { summary: 'list the endpoints, their filters and their state', run: webhooks('list') },
  'webhooks ping': { summary: 'send a test message now', operand: 'ID', run: webhooks('ping') },
  'webhooks rotate': {
    summary: 'replace the secret; the old one signs for 24 more hours',
    operand: 'ID',
    flags: { 'end-previous': { summary: 'also during a rotation: the older secret of that rotation ends at once' } },
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
  openapi: {
    summary: "write the API's description to docs/openapi.json",
    flags: {
      check: { summary: 'write nothing; exit 1 when the file differs from the description that the API serves' },
    },
    run: async ({ check }) => (await import('./compose/api.ts')).runOpenapi({ check: check === true }),
  },
  help: { summary: 'print this text', run: async () => console.log(usage()) },
}

/** The commands whose names begin with the name of a group. */
const membersOf = (group: string): [string, Command][] =>
  Object.entries(programs).filter(([name]) => name.startsWith(`${group} `))

const groupNames = new Set(Object.keys(programs).flatMap((name) => name.split(' ').slice(0, -1)))

/** `GROUP` and `GROUP help` print the commands of a group. The name of a group can be a command itself. */
const groups: Readonly<Record<string, Command>> = Object.fromEntries(
  [...groupNames].flatMap((group) => {
    const summary = programs[group]?.summary ?? `${PROGRAM} ${group} COMMAND --help describes one`
    const command = { summary, run: async () => console.log(usageOf(group, command)) }
    return [group, `${group} help`].map((name) => [name, command])
  }),
)

const commands: Readonly<Record<string, Command>> = { ...groups, ...programs }

const rows = (lines: readonly (readonly [string, string])[]): string[] => {
  const width = Math.max(...lines.map(([name]) => name.length))
  return lines.map(([name, summary]) => `  ${name.padEnd(width)}  ${summary}`)
}

const flagRows = (flags: Readonly<Record<string, Flag>>): string[] =>
  rows(Object.entries(flags).map(([name, { value, summary }]) => [`--${name}${value ? ` ${value}` : ''}`, summary]))

const summariesOf = (listed: readonly [string, Command][]): string[] =>
  rows(listed.map(([name, { summary }]) => [name, summary]))

const usage = (): string =>
  [
    `usage: ${PROGRAM} COMMAND [OPTIONS]`,
    ...summariesOf(Object.entries(programs)),
    'options of every command:',
    ...flagRows(common),
    ENVIRONMENT,
  ].join('\n')

const usageOf = (name: string, { summary, operand, flags }: Command): string => {
  const members = membersOf(name)
  return [
    `usage: ${PROGRAM} ${[name, operand].filter(Boolean).join(' ')} [OPTIONS]`,
    `  ${summary}`,
    ...(members.length > 0 ? ['commands:', ...summariesOf(members)] : []),
    'options:',
    ...flagRows({ ...flags, ...common }),
    ENVIRONMENT,
  ].join('\n')
}

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

const everyFlag = Object.assign({}, common, ...Object.values(programs).map(({ flags }) => flags))

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
  if (command === undefined) throw unknown('command', name, Object.keys(programs), `${PROGRAM} help`)
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
  const members = membersOf(name).map(([member]) => member)
  if (extra !== undefined && members.length > 0)
    throw unknown('command', `${name} ${extra}`, members, `${PROGRAM} ${name} help`)
  if (extra !== undefined)
    throw new ConfigError(`${name} takes no ${JSON.stringify(extra)}: run ${listed} for its usage`)
  const { 'env-file': envFile, ...own } = values
  if (typeof envFile === 'string') loadEnvFile(envFile)
  // Without a listener, a closed output ends the process with a stack. The first use of the stream makes a pipe
  // non-blocking, so services, which write to its descriptor, do not use it.
  if (command.isService !== true) process.stdout.on('error', fail)
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

/** The reader of the output closed it, as `head` does. */
const isClosedOutput = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EPIPE'

const fail = (error: unknown): void => {
  if (isClosedOutput(error)) {
    process.exitCode = 1
    return
  }
  const explained = isMisuse(error) || error instanceof OperatorError || error instanceof ServiceError
  console.error(explained ? error.message : error)
  process.exitCode = isMisuse(error) ? 2 : 1
}

main().catch(fail)
