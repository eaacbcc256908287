import { readFileSync } from 'node:fs'
import { afterEach, expect, test, vi } from 'vitest'

/* What the command line prints and its exit code, without a process for each. */

const { argv } = process
afterEach(() => {
  process.argv = argv
  process.exitCode = undefined
  vi.restoreAllMocks()
})

let times = 0

/** Runs the program with these words, by a copy of its module of its own. */
const run = async (...words: readonly string[]) => {
  const printed: string[] = []
  for (const to of ['log', 'error'] as const)
    vi.spyOn(console, to).mockImplementation((text: unknown) => void printed.push(String(text)))
  process.argv = ['node', 'cli.js', ...words]
  times += 1
  await import(/* @vite-ignore */ `../src/cli.ts?${times}`)
  await vi.waitFor(() => expect(printed).toHaveLength(1))
  return { code: process.exitCode ?? 0, text: printed[0] ?? '' }
}

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))

test.each([
  ['no word', [], /^usage: node dist\/cli\.js COMMAND \[OPTIONS\]\n {2}\w/],
  ['--help', ['--help'], /^usage: node dist\/cli\.js COMMAND /],
  ['--version', ['migrate', '--version'], new RegExp(`^${version}$`)],
  ['--help of a command', ['migrate', '--help'], /^usage: node dist\/cli\.js migrate \[OPTIONS\]\n/],
  ['the name of a group', ['webhooks'], /^usage: node dist\/cli\.js webhooks COMMAND \[OPTIONS\]\n.*\ncommands:\n/],
  ['help of a group', ['webhooks', 'help'], /^usage: node dist\/cli\.js webhooks COMMAND /],
  ['help of a member', ['webhooks', 'help', 'add'], /^usage: node dist\/cli\.js webhooks add /],
  ['--help of a member', ['webhooks', 'add', '--help'], /^usage: node dist\/cli\.js webhooks add /],
])('%s prints a usage or the version, with exit code 0', async (_, words, expected) => {
  const { code, text } = await run(...words)
  expect(text).toMatch(expected)
  expect(code).toBe(0)
})

test.each([
  [['migrates'], 'unknown command migrates: did you mean migrate? node dist/cli.js help lists all'],
  [['qqqqqqqqqqqq'], 'unknown command qqqqqqqqqqqq: node dist/cli.js help lists all'],
  [['webhooks', 'ad'], 'unknown command of webhooks: ad: did you mean add? node dist/cli.js webhooks help lists all'],
  [['webhooks', 'help', 'ad'], 'unknown command of webhooks: ad: did you mean add?'],
  [['migrate', '--env-fil', 'x'], 'unknown option of migrate: --env-fil: did you mean --env-file?'],
  [['migrate', '--env-file'], "Option '--env-file <value>' argument missing: run node dist/cli.js migrate --help"],
  [['migrate', 'now'], 'migrate takes no "now": '],
  [['migrate', '--env-file', '/nowhere/x.env'], '--env-file /nowhere/x.env cannot be read ('],
])('%j is refused with exit code 2', async (words, expected) => {
  const { code, text } = await run(...words)
  expect(text).toContain(expected)
  expect(code).toBe(2)
})
