import { parseArgs } from 'node:util'
import { ConfigError } from './config/load.ts'
import { OperatorError, ServiceError } from './lib/errors.ts'

const options = {
  quiet: { type: 'boolean', default: false },
  check: { type: 'boolean', default: false },
  persist: { type: 'string' },
  strike: { type: 'string' },
  'payout-cap': { type: 'string' },
  expiry: { type: 'string' },
  notional: { type: 'string' },
  below: { type: 'boolean', default: false },
  at: { type: 'string' },
  out: { type: 'string' },
  'env-file': { type: 'string' },
} as const

const parse = () => parseArgs({ allowPositionals: true, options })

type Flags = ReturnType<typeof parse>['values']
type Command = {
  readonly summary: string
  /** What follows the command, where something may. */
  readonly operand?: string
  readonly run: (flags: Flags, operand: string | undefined) => Promise<void>
}

/** What a command runs is loaded when it is wanted: a process holds that and no more. */
const commands: Readonly<Record<string, Command>> = {
  sandbox: {
    summary: 'the whole system on embedded parts [--quiet] [--persist DIR]',
    run: async ({ quiet, persist }) => (await import('./compose/sandbox.ts')).runSandbox({ quiet, persist }),
  },
  api: { summary: 'the HTTP API', run: async () => (await import('./compose/api.ts')).runApi() },
  worker: { summary: 'the indexer and its jobs', run: async () => (await import('./compose/worker.ts')).runWorker() },
  engine: {
    summary: 'the pricing engine; the only process with a key',
    run: async () => (await import('./compose/engine.ts')).runEngine(),
  },
  'engine chart': {
    summary: 'a quote as a picture, to stdout: see docs/pricing.md [--below] [--at DAY] [--out FILE.svg]',
    operand: 'PAIR --strike RATE --payout-cap RATE --expiry DAY --notional AMOUNT',
    run: async (flags, pair) => (await import('./compose/engine.ts')).runChart(pair, flags),
  },
  migrate: {
    summary: 'bring the database to the schema of this version',
    run: async () => (await import('./compose/tools.ts')).runMigrate(),
  },
  audit: {
    summary: 'compare the index with the chains; exit 1 on a difference, 2 when something cannot be compared',
    run: async () => (await import('./compose/tools.ts')).runAudit(),
  },
  openapi: {
    summary: "write the API's description to docs/openapi.json [--check]",
    run: async (flags) => (await import('./compose/api.ts')).runOpenapi(flags),
  },
  help: { summary: 'this text', run: async () => console.log(usage()) },
}

const usage = (): string =>
  [
    'usage: node dist/cli.js COMMAND [--env-file FILE]',
    ...Object.entries(commands).map(([name, { summary, operand }]) =>
      operand === undefined ? `  ${name.padEnd(8)} ${summary}` : `  ${name} ${operand}\n${' '.repeat(11)}${summary}`,
    ),
    'The environment of each command is described in .env.example; --env-file reads it from a file.',
  ].join('\n')

const main = async (): Promise<void> => {
  const { values, positionals } = parse()
  const words = Object.hasOwn(commands, positionals.slice(0, 2).join(' ')) ? 2 : 1
  const command = commands[positionals.slice(0, words).join(' ') || 'help']
  const most = words + (command?.operand === undefined ? 0 : 1)
  if (command === undefined || positionals.length > most) throw new ConfigError(usage())
  if (values['env-file'] !== undefined) process.loadEnvFile(values['env-file'])
  await command.run(values, positionals[words])
}

/** Faults of the command line and the environment, which another call mends. */
const isMisuse = (error: unknown): error is Error =>
  (error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS_')) ||
  error instanceof ConfigError ||
  (error instanceof ServiceError && error.code === 'validation_error')

main().catch((error: unknown) => {
  const explained = isMisuse(error) || error instanceof OperatorError || error instanceof ServiceError
  console.error(explained ? error.message : error)
  process.exitCode = isMisuse(error) ? 2 : 1
})
