import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { webhookTypes } from '../src/db/schema-webhooks.ts'
import { builtCommand } from './support/built.ts'

const run = promisify(execFile)

/** Runs the command line and returns its output; rejects with the exit code and stderr. */
const cli = async (words: string): Promise<string> => {
  const { command, args } = builtCommand(...words.split(' ').filter((word) => word !== ''))
  // An environment without this process's variables, so that the build cannot rely on a loader.
  const { stdout } = await run(command, args, { env: { PATH: process.env.PATH } })
  return stdout
}

test('the help lists the commands', async () => {
  const help = await cli('help')
  for (const name of ['sandbox', 'api', 'worker', 'engine', 'migrate', 'audit']) expect(help).toContain(`\n  ${name} `)
})

test.each(['--help', 'help', 'help --help', ''])('"%s" lists the commands', async (words) => {
  expect(await cli(words)).toBe(await cli('help'))
})

test.each(['webhooks', 'webhooks help', 'webhooks --help'])('"%s" lists the commands of the group', async (words) => {
  const help = await cli(words)
  for (const name of ['add', 'list', 'resume', 'replay']) expect(help).toContain(`\n  webhooks ${name} `)
  expect(help).toContain('node dist/cli.js webhooks COMMAND --help')
  expect(help).not.toContain('sandbox')
})

test.each([
  ['changes', 'changes reset'],
  ['engine help', 'engine chart'],
  ['engine --help', 'engine chart'],
])('"%s" lists %s and starts nothing', async (words, command) => {
  expect(await cli(words)).toContain(`\n  ${command}  `)
})

test('the help of webhooks add lists every type', async () => {
  const help = await cli('webhooks add --help')
  for (const type of webhookTypes) expect(help).toContain(type)
})

test.each([
  ['sandbox', '--persist DIR'],
  ['api', '--env-file FILE'],
  ['worker', '--env-file FILE'],
  ['engine', '--env-file FILE'],
  ['engine chart', '--payout-cap RATE'],
  ['migrate', '--env-file FILE'],
  ['audit', '--env-file FILE'],
  ['openapi', '--check'],
])('%s --help lists %s among its options and starts nothing', async (command, option) => {
  const help = await cli(`${command} --help`)
  expect(help).toContain(`usage: node dist/cli.js ${command}`)
  expect(help).toContain(`\n  ${option} `)
  expect(help).not.toContain(command === 'sandbox' ? '--check' : '--quiet')
})

test.each(['--version', 'sandbox --version', 'api --version'])(
  '%s prints the version of the package',
  async (words) => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    expect(await cli(words)).toBe(`${version}\n`)
  },
)

// cspell:ignore persits sandbx chrt
test.each([
  [
    'sandbox --quite',
    'unknown option of sandbox: --quite: did you mean --quiet? node dist/cli.js sandbox --help lists all\n',
  ],
  ['sandbox --persits=x', 'unknown option of sandbox: --persits: did you mean --persist? '],
  ['api --quiet', 'unknown option of api: --quiet: node dist/cli.js api --help lists all\n'],
  ['--halp', 'unknown option of help: --halp: did you mean --help? '],
  ['sandbx', 'unknown command sandbx: did you mean sandbox? node dist/cli.js help lists all\n'],
  ['webhooks lst', 'unknown command of webhooks: lst: did you mean list? node dist/cli.js webhooks help lists all'],
  ['engine chrt', 'unknown command of engine: chrt: did you mean chart? node dist/cli.js engine help lists all'],
  ['constructor', 'unknown command constructor: node dist/cli.js help lists all\n'],
  ['api now', 'api takes no "now": run node dist/cli.js api --help for its usage\n'],
])('"%s" is rejected in one line that states what to do', async (words, line) => {
  const refusal = await cli(words).catch((fault) => fault)
  expect(refusal).toMatchObject({ code: 2, stderr: expect.stringContaining(line) })
  expect(refusal.stderr.trim().split('\n')).toHaveLength(1)
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

const chart = 'engine chart USD/GHS --payout-cap 13.5 --expiry 2027-05-20 --at 2026-11-21 --notional 10000'

test.each([
  ['an invalid number', `${chart} --strike twelve`, 2, 'strike: expected a number, such as 11.4\n'],
  ['a range that the engine rejects', `${chart} --strike 14`, 2, 'an upward range has its cap above its strike\n'],
  [
    'an option without its value',
    `${chart} --strike`,
    2,
    "Option '--strike <value>' argument missing: run node dist/cli.js engine chart --help for its usage\n",
  ],
  [
    'a file that cannot be written',
    `${chart} --strike 12 --out no/such/folder.svg`,
    1,
    /^no\/such\/folder\.svg cannot be written: .+\n$/,
  ],
])(
  'the chart command reports %s in one line',
  async (_, words, code, stderr) => {
    await expect(cli(words)).rejects.toMatchObject({ code, stderr: expect.stringMatching(stderr) })
  },
  30_000,
)
