import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { builtCommand } from './support/built.ts'
import { startPublisher } from './support/publisher.ts'

/* The command line as it is built. `cli.test.ts` has its other cases, without a process for each. */

const run = promisify(execFile)

/** Runs the command line and returns its output; rejects with the exit code and stderr. */
const cli = async (words: string, env: Readonly<Record<string, string>> = {}): Promise<string> => {
  const { command, args } = builtCommand(...words.split(' ').filter((word) => word !== ''))
  // An environment without this process's variables, so that the build cannot rely on a loader.
  const { stdout } = await run(command, args, { env: { PATH: process.env.PATH, ...env } })
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

test('rates that were fetched to the folder of rates are shown, and an unreadable file gives exit code 1', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rates-'))
  const days = Array.from({ length: 60 }, (_, back) =>
    new Date(Date.now() - back * 86_400_000).toISOString().slice(0, 10),
  )
  const body = ['Date,USD,JPY,', ...days.map((day, back) => `${day},${1.1 + back / 1e4},${160 + back / 100},`)].join(
    '\n',
  )
  const publisher = await startPublisher(() => ({ body }))
  writeFileSync(join(folder, 'broken.csv'), 'no,known,format')
  const env = { ENGINE_RATES_FOLDER: folder, ENGINE_ECB_URL: publisher.url, DIAMOND_ADDRESS_8453: '' }
  const failed = await cli(`engine market --fetch ${folder}`, env).catch((fault) => fault)
  await publisher.close()
  rmSync(folder, { recursive: true })
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('broken.csv') })
  expect(failed.stdout).toContain(`written: ${join(folder, 'ECB.csv')}\n`)
  expect(failed.stdout).toMatch(/^USD\/JPY +ECB\.csv .* fresh$/m)
})

test('the picture in the documentation equals the output of the command next to it', async () => {
  const page = readFileSync('docs/pricing.md', 'utf8').replaceAll('\\\n', ' ').replace(/ +/g, ' ')
  const [, words = '', file = ''] = /node dist\/cli\.js (engine chart .+) --out (\S+)/.exec(page) ?? []
  expect(await cli(words)).toBe(readFileSync(file, 'utf8'))
})
