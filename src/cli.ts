import { readFileSync } from 'node:fs'
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { ConfigError } from './config/load.ts'
import { errorText, OperatorError, ServiceError } from './lib/errors.ts'
import { nearest } from './lib/nearest.ts'
import { packaged } from './lib/root.ts'

/** What follows a flag, where something does, and what it is for. */
type Flag = { readonly value?: string; readonly summary: string }

const common: Readonly<Record<string, Flag>> = {
  'env-file': { value: 'FILE', summary: 'read the environment from a file; variables that are set win' },
  help: { summary: 'this text' },
  version: { summary: 'the version of this program' },
}

type Values = Readonly<Record<string, string | boolean | undefined>>

type Command = {
  readonly summary: string
  /** What follows the command, where something may. */
  readonly operand?: string
  readonly flags?: Readonly<Record<string, Flag>>
  readonly run: (flags: Values, operand: string | undefined) => Promise<void>
}

const text = (value: string | boolean | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined

/** What a command runs is loaded when it is wanted: a process holds that and no more. */
const commands: Readonly<Record<string, Command>> = {
  sandbox: {
    summary: 'the whole system on embedded parts',
    flags: {
      quiet: { summary: 'no live activity after the seeded story' },
      persist: { value: 'DIR', summary: 'keep the state in a folder and go on from it next time' },
    },
    run: async ({ quiet, persist }) =>
      (await import('./compose/sandbox.ts')).runSandbox({ quiet: quiet === true, persist: text(persist) }),
  },
  api: { summary: 'the HTTP API', run: async () => (await import('./compose/api.ts')).runApi() },
  worker: { summary: 'the indexer and its jobs', run: async () => (await import('./compose/worker.ts')).runWorker() },
  engine: {
    summary: 'the pricing engine; the only process with a key',
    run: async () => (await import('./compose/engine.ts')).runEngine(),
  },
  'engine chart': {
    summary: 'a quote as a picture, to stdout: see docs/pricing.md',
    operand: 'PAIR',
    flags: {
      strike: { value: 'RATE', summary: 'where the payout begins' },
      'payout-cap': { value: 'RATE', summary: 'where the payout is greatest' },
      expiry: { value: 'DAY', summary: 'the day it ends, YYYY-MM-DD' },
      notional: { value: 'AMOUNT', summary: 'what is protected, in dollars' },
      below: { summary: 'pay when the rate falls; else when it rises' },
      at: { value: 'DAY', summary: 'the day it is drawn for; else today' },
      out: { value: 'FILE.svg', summary: 'write to a file' },
    },
    run: async (flags, pair) =>
      (await import('./compose/engine.ts')).runChart(pair, { ...flags, out: text(flags.out) }),
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
    summary: "write the API's description to docs/openapi.json",
    flags: { check: { summary: 'write nothing; exit 1 when the file is not what the API serves' } },
    run: async ({ check }) => (await import('./compose/api.ts')).runOpenapi({ check: check === true }),
  },
  help: { summary: 'this text', run: async () => console.log(usage()) },
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
    'of each command:',
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

/** An unknown word, with the known one that was probably meant and where all are listed. */
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
  if (extra !== undefined) throw new ConfigError(`${name} takes no ${JSON.stringify(extra)}: see ${listed}`)
  const { 'env-file': envFile, ...own } = values
  if (typeof envFile === 'string') loadEnvFile(envFile)
  await command.run(own as Values, positionals[words])
}

const loadEnvFile = (path: string): void => {
  try {
    process.loadEnvFile(path)
  } catch (cause) {
    throw new ConfigError(`--env-file ${path} cannot be read (${errorText(cause)}): name a file that is there`, {
      cause,
    })
  }
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
