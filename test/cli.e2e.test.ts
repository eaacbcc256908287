import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { builtCommand } from './support/built.ts'

const run = promisify(execFile)

/** What a call of the command line prints; rejects with the exit code and stderr. */
const cli = async (words: string): Promise<string> => {
  const { command, args } = builtCommand(...words.split(' '))
  // Nothing of ours: no loader that the build could lean on.
  const { stdout } = await run(command, args, { env: { PATH: process.env.PATH } })
  return stdout
}

test('help names the commands', async () => {
  const help = await cli('help')
  for (const name of ['sandbox', 'api', 'worker', 'engine', 'migrate', 'audit']) expect(help).toContain(`\n  ${name} `)
})

test('the picture in the documents is what the command beside it draws', async () => {
  const page = readFileSync('docs/pricing.md', 'utf8').replaceAll('\\\n', ' ').replace(/ +/g, ' ')
  const [, words = '', file = ''] = /node dist\/cli\.js (engine chart .+) --out (\S+)/.exec(page) ?? []
  expect(await cli(words)).toBe(readFileSync(file, 'utf8'))
})

const chart = 'engine chart USD/GHS --payout-cap 13.5 --expiry 2027-05-20 --at 2026-11-21 --notional 10000'

test.each([
  ['a number that is none', `${chart} --strike twelve`, 2, 'strike: expected a number\n'],
  ['a range that the engine refuses', `${chart} --strike 14`, 2, 'an upward range has its cap above its strike\n'],
  ['an option without its value', `${chart} --strike`, 2, "Option '--strike <value>' argument missing\n"],
  [
    'a file that cannot be',
    `${chart} --strike 12 --out no/such/folder.svg`,
    1,
    /^no\/such\/folder\.svg cannot be written: .+\n$/,
  ],
])(
  '%s is told in one line',
  async (_, words, code, stderr) => {
    await expect(cli(words)).rejects.toMatchObject({ code, stderr: expect.stringMatching(stderr) })
  },
  30_000,
)
