import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { builtCommand } from './support/built.ts'

/* The command line as it is built. `cli.test.ts` has its other cases, without a process for each. */

const run = promisify(execFile)

/** Runs the command line and returns its output; rejects with the exit code and stderr. */
const cli = async (words: string): Promise<string> => {
  const { command, args } = builtCommand(...words.split(' ').filter((word) => word !== ''))
  // An environment without this process's variables, so that the build cannot rely on a loader.
  const { stdout } = await run(command, args, { env: { PATH: process.env.PATH } })
  return stdout
}

test('the help is printed with exit code 0, and a refusal in one line of stderr with exit code 2', async () => {
  expect(await cli('help')).toMatch(/^usage: node dist\/cli\.js COMMAND /)
  const refusal = await cli('migrate now').catch((fault) => fault)
  const stderr = 'migrate takes no "now": run node dist/cli.js migrate --help for its usage\n'
  expect(refusal).toMatchObject({ code: 2, stdout: '', stderr })
})

test('a missing environment file is reported in one line', async () => {
  const refusal = await cli('api --env-file no/such/file').catch((fault) => fault)
  // Some versions of Node treat the option as their own and reject it themselves.
  expect(refusal.stderr).toMatch(/^.*no\/such\/file.*\n$/)
  expect(refusal.code).toBeGreaterThan(0)
})

test('the picture in the documentation equals the output of the command next to it', async () => {
  const page = readFileSync('docs/pricing.md', 'utf8').replaceAll('\\\n', ' ').replace(/ +/g, ' ')
  const [, words = '', file = ''] = /node dist\/cli\.js (engine chart .+) --out (\S+)/.exec(page) ?? []
  expect(await cli(words)).toBe(readFileSync(file, 'utf8'))
})
