#!/usr/bin/env -S npx tsx
import { parseArgs } from 'node:util'
import { ConfigError } from './config.ts'
import { OperatorError, ServiceError } from './lib/errors.ts'

type Flags = { readonly quiet: boolean; readonly check: boolean; readonly persist: string | undefined }
type Command = { readonly summary: string; readonly run: (flags: Flags) => Promise<void> }

/** Loaded when it is wanted: a process holds what it runs and no more. */
const composed =
  (name: keyof typeof import('./compose.ts')) =>
  async (flags: Flags): Promise<void> =>
    (await import('./compose.ts'))[name](flags)

const commands: Readonly<Record<string, Command>> = {
  sandbox: { summary: 'the whole system on embedded parts [--quiet] [--persist DIR]', run: composed('runSandbox') },
  api: { summary: 'the HTTP API', run: composed('runApi') },
  worker: { summary: 'the indexer and its jobs', run: composed('runWorker') },
  engine: {
    summary: 'the pricing engine; the only process with a key',
    run: async () => (await import('./compose-engine.ts')).runEngine(),
  },
  migrate: { summary: 'bring the database to the schema of this version', run: composed('runMigrate') },
  audit: {
    summary: 'compare the index with the chains and print the counts; exit 1 on a difference',
    run: composed('runAudit'),
  },
  openapi: { summary: "write the API's description to docs/openapi.json [--check]", run: composed('runOpenapi') },
  help: { summary: 'this text', run: async () => console.log(usage()) },
}

const usage = (): string =>
  [
    'usage: npx tsx src/cli.ts COMMAND [--env-file FILE]',
    ...Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(8)} ${summary}`),
    'The environment of each command is described in .env.example; --env-file reads it from a file.',
  ].join('\n')

const main = async (): Promise<void> => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      quiet: { type: 'boolean', default: false },
      check: { type: 'boolean', default: false },
      persist: { type: 'string' },
      'env-file': { type: 'string' },
    },
  })
  const command = commands[positionals[0] ?? 'help']
  if (command === undefined || positionals.length > 1) throw new ConfigError(usage())
  if (values['env-file'] !== undefined) process.loadEnvFile(values['env-file'])
  await command.run({ quiet: values.quiet, check: values.check, persist: values.persist })
}

main().catch((error: unknown) => {
  const unknownOption = error instanceof TypeError && 'code' in error && error.code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION'
  const explained = unknownOption || error instanceof OperatorError || error instanceof ServiceError
  console.error(explained ? error.message : error)
  process.exitCode = unknownOption || error instanceof ConfigError ? 2 : 1
})
