import { readFileSync } from 'node:fs'
import { afterEach, expect, test, vi } from 'vitest'
import { webhookTypes } from '../src/db/schema/webhooks.ts'

/* What the command line prints and its exit code, without a process for each. */

const { argv } = process
const listeners = process.stdout.listeners('error')
afterEach(() => {
  for (const added of process.stdout.listeners('error'))
    if (!listeners.includes(added)) process.stdout.off('error', added as () => void)
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
  await vi.waitFor(() => expect(printed).toHaveLength(1), { timeout: 30_000 })
  return { code: process.exitCode ?? 0, text: printed[0] ?? '' }
}

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))

test.each([
  ['no word', [], /^usage: node dist\/cli\.js COMMAND \[OPTIONS\]\n {2}\w/],
  ['--help', ['--help'], /^usage: node dist\/cli\.js COMMAND /],
  ['--version', ['--version'], new RegExp(`^${version}$`)],
  ['--version of a command', ['migrate', '--version'], new RegExp(`^${version}$`)],
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

test.each(['--help', 'help --help', ''])('"%s" lists the commands', async (words) => {
  const help = (await run('help')).text
  for (const name of ['sandbox', 'api', 'worker', 'engine', 'migrate', 'audit', 'reindex', 'export'])
    expect(help).toContain(`\n  ${name} `)
  expect((await run(...words.split(' ').filter((word) => word !== ''))).text).toBe(help)
})

test.each(['webhooks', 'webhooks help', 'webhooks --help'])('"%s" lists the commands of the group', async (words) => {
  const { text } = await run(...words.split(' '))
  for (const name of ['add', 'list', 'resume', 'replay']) expect(text).toContain(`\n  webhooks ${name} `)
  expect(text).toContain('node dist/cli.js webhooks COMMAND --help')
  expect(text).not.toContain('sandbox')
})

test.each([
  ['changes', 'changes reset'],
  ['engine help', 'engine chart'],
  ['engine --help', 'engine chart'],
])('"%s" lists %s and starts nothing', async (words, command) => {
  expect((await run(...words.split(' '))).text).toContain(`\n  ${command}  `)
})

test('the help of webhooks add lists every type', async () => {
  const { text } = await run('webhooks', 'add', '--help')
  for (const type of webhookTypes) expect(text).toContain(type)
})

test.each([
  ['sandbox', '--persist DIR'],
  ['api', '--env-file FILE'],
  ['worker', '--env-file FILE'],
  ['engine', '--env-file FILE'],
  ['engine chart', '--payout-cap RATE'],
  ['migrate', '--env-file FILE'],
  ['audit', '--env-file FILE'],
  ['export', '--out DIR'],
  ['openapi', '--check'],
])('%s --help lists %s among its options and starts nothing', async (command, option) => {
  const { text } = await run(...command.split(' '), '--help')
  expect(text).toContain(`usage: node dist/cli.js ${command}`)
  expect(text).toContain(`\n  ${option} `)
  expect(text).not.toContain(command === 'sandbox' ? '--check' : '--quiet')
})

const chart = 'engine chart USD/GHS --payout-cap 13.5 --expiry 2027-05-20 --at 2026-11-21 --notional 10000'.split(' ')

// cspell:ignore persits sandbx chrt
test.each([
  [['migrates'], 'unknown command migrates: did you mean migrate? node dist/cli.js help lists all'],
  [['qqqqqqqqqqqq'], 'unknown command qqqqqqqqqqqq: node dist/cli.js help lists all'],
  [['webhooks', 'ad'], 'unknown command of webhooks: ad: did you mean add? node dist/cli.js webhooks help lists all'],
  [['webhooks', 'help', 'ad'], 'unknown command of webhooks: ad: did you mean add?'],
  [['migrate', '--env-fil', 'x'], 'unknown option of migrate: --env-fil: did you mean --env-file?'],
  [['migrate', '--env-file'], "Option '--env-file <value>' argument missing: run node dist/cli.js migrate --help"],
  [['migrate', 'now'], 'migrate takes no "now": '],
  [['migrate', '--env-file', '/nowhere/x.env'], '--env-file /nowhere/x.env cannot be read ('],
  [
    ['sandbox', '--quite'],
    'unknown option of sandbox: --quite: did you mean --quiet? node dist/cli.js sandbox --help lists all',
  ],
  [['sandbox', '--persits=x'], 'unknown option of sandbox: --persits: did you mean --persist? '],
  [['api', '--quiet'], 'unknown option of api: --quiet: node dist/cli.js api --help lists all'],
  [['--halp'], 'unknown option of help: --halp: did you mean --help? '],
  [['sandbx'], 'unknown command sandbx: did you mean sandbox? node dist/cli.js help lists all'],
  [['engine', 'chrt'], 'unknown command of engine: chrt: did you mean chart? node dist/cli.js engine help lists all'],
  [['constructor'], 'unknown command constructor: node dist/cli.js help lists all'],
  [['api', 'now'], 'api takes no "now": run node dist/cli.js api --help for its usage'],
  [[...chart, '--strike', 'twelve'], 'strike: expected a number, such as 11.4'],
  [[...chart, '--strike', '14'], 'an upward range has its cap above its strike'],
  [
    [...chart, '--strike'],
    "Option '--strike <value>' argument missing: run node dist/cli.js engine chart --help for its usage",
  ],
])('%j is refused in one line with exit code 2', async (words, expected) => {
  const { code, text } = await run(...words)
  expect(text).toContain(expected)
  expect(text).not.toContain('\n')
  expect(code).toBe(2)
})

test('a file that cannot be written is refused in one line with exit code 1', async () => {
  const { code, text } = await run(...chart, '--strike', '12', '--out', 'no/such/folder.svg')
  expect(text).toMatch(/^no\/such\/folder\.svg cannot be written: .+$/)
  expect(code).toBe(1)
})
