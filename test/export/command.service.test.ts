import { spawn } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runExport } from '../../src/compose/commands/export.ts'
import type { Flags } from '../../src/compose/flags.ts'
import { tableNames } from '../../src/export/tables.ts'
import { builtCommand } from '../support/built.ts'
import { type Exports, manifestOf, startExports } from '../support/exports.ts'
import { runCommand } from '../support/run-command.ts'

/* The command of the product. */

let exports: Exports
let indexed: Exports['indexed']
let folders: Exports['folders']
let whole: Exports['whole']

beforeAll(async () => {
  exports = await startExports()
  ;({ indexed, folders, whole } = exports)
})
afterAll(() => exports?.close())

const environment = (): Record<string, string> => ({
  DATABASE_URL: indexed.url,
  ...Object.fromEntries(
    indexed.worlds.flatMap(({ deployment: { chainId, diamond, usdc, startBlock, profile }, anvil }) =>
      Object.entries({
        ...{ RPC_URLS: anvil.url, PUBLIC_RPC_URL: 'https://node.example', DIAMOND_ADDRESS: diamond },
        ...{ USDC_ADDRESS: usdc, START_BLOCK: String(startBlock), PROFILE: profile },
      }).map(([name, value]) => [`${name}_${chainId}`, value]),
    ),
  ),
})

/** Runs the command of the product. `kill` ends it when it has written this many files. */
const command = async (words: readonly string[], killAfter = Number.POSITIVE_INFINITY) => {
  const { command: program, args } = builtCommand('export', ...words)
  const child = spawn(program, args, { env: { ...environment(), PATH: process.env.PATH } })
  let [stdout, files, errors] = ['', 0, '']
  child.stdout.on('data', (bytes) => (stdout += bytes))
  createInterface(child.stderr).on('line', (line) => {
    errors += line
    if (line.includes('"exported"')) files += 1
    if (files === killAfter) child.kill('SIGKILL')
  })
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { code, stdout, errors, files }
}

/** Runs the command in this process, and takes its exit code back. */
const called = async (flags: Flags) => {
  const { text } = await runCommand(() => runExport(flags), { ...environment(), LOG_LEVEL: 'silent' })
  const code = process.exitCode ?? 0
  process.exitCode = undefined
  return { code, stdout: text }
}

test('the command exports both chains, continues after a kill, and verifies', async () => {
  const folder = join(folders, 'command')
  const killed = await command(['--out', folder], 16)
  expect(killed.code).toBe(null)
  // The process may write some more files before the signal reaches it.
  const listed = (await manifestOf(folder)).files.length
  expect([listed >= 14, listed % tableNames.length]).toEqual([true, 0])
  const { length } = (await manifestOf(whole)).files
  const rest = await command(['--out', folder])
  expect([rest.code, rest.errors.includes('"level":50')]).toEqual([0, false])
  expect(rest.stdout).toContain(
    `chain 8453: ${length - listed} files written, ${listed} were there; the last final day`,
  )
  expect(rest.stdout).toMatch(/\nchain 56: \d+ files written, 0 were there/)
  for (const chainId of [8453, 56]) {
    const strip = async (of: string) =>
      (await manifestOf(of, chainId)).files.map(({ bytes: _, sha256: __, ...file }) => file)
    expect(await strip(folder)).toEqual(await strip(whole))
  }
  const [{ path = '' } = {}] = (await manifestOf(folder)).files
  expect(await called({ out: folder, verify: true, chain: '8453' })).toMatchObject({ code: 0 })
  await rm(join(folder, path))
  const differs = await called({ out: folder, verify: true, chain: '8453', table: 'activity' })
  expect(differs).toMatchObject({ code: 1, stdout: expect.stringContaining(`\n  differs: ${path}\n`) })
  expect(await called({ out: folder, repair: true, chain: '8453' })).toMatchObject({ code: 0 })
})

test('a wrong option is refused with exit code 2, naming the option', async () => {
  const refused: readonly (readonly [Readonly<Record<string, string>>, string])[] = [
    [{}, 'out: name the folder'],
    [{ out: 'x', chain: '1' }, 'chain: expected ids of CHAINS (8453, 56), got "1"'],
    [{ out: 'x', table: 'rates' }, 'table: expected some of activity, deposits'],
    [{ out: 'x', from: '2026-02-30' }, 'from: expected a day'],
    [{ out: 'x', to: 'today' }, 'to: expected a day'],
    [{ out: 'x', from: '2026-02-02', to: '2026-02-01' }, 'to: expected a day from 2026-02-02 on'],
  ]
  for (const [flags, message] of refused)
    expect(await runCommand(() => runExport(flags), environment())).toEqual({
      ...{ code: 2, text: expect.stringContaining(message) },
    })
})
