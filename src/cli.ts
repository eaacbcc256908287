import { readFileSync } from 'node:fs'
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { type Command, type Flag, programs } from './compose/commands/commands.ts'
import type { Flags } from './compose/flags.ts'
import { ConfigError } from './config/load.ts'
import { npmOptions } from './config/npm.ts'
import { errorText, OperatorError, ServiceError } from './lib/errors.ts'
import { nearest } from './lib/nearest.ts'
import { packaged } from './lib/root.ts'

const PROGRAM = 'node dist/cli.js'
const ENVIRONMENT = 'The environment of each command is described in .env.example.'

const common: Readonly<Record<string, Flag>> = {
  'env-file': { value: 'FILE', summary: 'read the environment from a file; variables already set take precedence' },
  help: { summary: 'print this text' },
  version: { summary: 'print the version of this program' },
}

const listed: Readonly<Record<string, Command>> = {
  ...programs,
  help: { summary: 'print this text', run: async () => console.log(usage()) },
}

/** The commands whose names begin with the name of a group. */
const membersOf = (group: string): [string, Command][] =>
  Object.entries(listed).filter(([name]) => name.startsWith(`${group} `))

const groupNames = new Set(Object.keys(listed).flatMap((name) => name.split(' ').slice(0, -1)))

/**
 * `GROUP` and `GROUP help` print the commands of a group, `GROUP help COMMAND` the usage of one. The name of a group can be
 * a command itself.
 */
const groups: Readonly<Record<string, Command>> = Object.fromEntries(
  [...groupNames].flatMap((group) => {
    const summary = listed[group]?.summary ?? `${PROGRAM} ${group} COMMAND --help describes one`
    const command: Command = { summary, run: async () => console.log(usageOf(group, command)) }
    const help = async (_: Flags, word: string | undefined): Promise<void> => {
      const member = listed[`${group} ${word}`]
      if (member === undefined && word !== undefined) throw unknownOf(group, word)
      console.log(member === undefined ? usageOf(group, command) : usageOf(`${group} ${word}`, member))
    }
    return [
      [group, command],
      [`${group} help`, { summary, operand: 'COMMAND', run: help }],
    ]
  }),
)

const commands: Readonly<Record<string, Command>> = { ...groups, ...listed }

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
    ...summariesOf(Object.entries(listed)),
    'options of every command:',
    ...flagRows(common),
    ENVIRONMENT,
  ].join('\n')

const usageOf = (name: string, { summary, operand, flags }: Command): string => {
  const members = membersOf(name)
  const placeholder = members.length === 0 ? operand : Object.hasOwn(listed, name) ? '[COMMAND]' : 'COMMAND'
  return [
    `usage: ${PROGRAM} ${[name, placeholder].filter(Boolean).join(' ')} [OPTIONS]`,
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

/** The same for a word after the name of a group. */
const unknownOf = (group: string, word: string): ConfigError => {
  const members = membersOf(group).map(([name]) => name.slice(group.length + 1))
  return unknown(`command of ${group}:`, word, members, `${PROGRAM} ${group} help`)
}

const everyFlag = Object.assign({}, common, ...Object.values(listed).map(({ flags }) => flags))

/** The values of the flags. Throws a ConfigError for a flag without its value. */
const valuesOf = (flags: Readonly<Record<string, Flag>>, usageCommand: string): Flags => {
  try {
    return parseArgs({ allowPositionals: true, options: optionsOf(flags) }).values as Flags
  } catch (fault) {
    // The first line names the option, the others explain how texts that begin with a dash are passed.
    const [line] = errorText(fault).split('\n')
    throw new ConfigError(`${line?.replace(/\.?$/, '')}: run ${usageCommand} for its usage`, { cause: fault })
  }
}

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
  if (command === undefined) throw unknown('command', name, Object.keys(listed), `${PROGRAM} help`)
  const flags = { ...command.flags, ...common }
  const usageCommand = name === 'help' ? `${PROGRAM} --help` : `${PROGRAM} ${name} --help`
  for (const token of tokens) {
    if (token.kind !== 'option' || Object.hasOwn(flags, token.name)) continue
    const known = Object.keys(flags).map((flag) => `--${flag}`)
    throw unknown(`option of ${name}:`, token.rawName, known, usageCommand)
  }
  const values = valuesOf(flags, usageCommand)
  if (values.version === true) return console.log(versionOf())
  if (values.help === true) return console.log(name === 'help' ? usage() : usageOf(name, command))
  const most = words + (command.operand === undefined ? 0 : 1)
  const [extra] = positionals.slice(most)
  if (extra !== undefined && membersOf(name).length > 0) throw unknownOf(name, extra)
  if (extra !== undefined)
    throw new ConfigError(
      `${name} takes no ${JSON.stringify(extra)}: ${npmOptions().note ?? `run ${usageCommand} for its usage`}`,
    )
  const { 'env-file': envFile, ...own } = values
  if (typeof envFile === 'string') loadEnvFile(envFile)
  // Without a listener, a closed output ends the process with a stack. The first use of the stream makes a pipe
  // non-blocking, so services, which write to its descriptor, do not use it.
  if (command.isService !== true)
    process.stdout.on('error', (fault) =>
      fail(isClosedOutput(fault) ? fault : new OperatorError(`the output cannot be written: ${errorText(fault)}`)),
    )
  await command.run(own, positionals[words])
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
