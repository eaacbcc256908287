import { execFile } from 'node:child_process'
import { expect, test } from 'vitest'
import { byForm } from '../support/repetitions.ts'

/** What the example prints as an error, and its exit code. */
const failureOf = (...args: readonly string[]): Promise<[string, unknown]> =>
  new Promise((resolve) => {
    const program = ['--import', 'tsx', 'examples/webhooks.ts', ...args]
    execFile(process.execPath, program, (error, _, stderr) => resolve([stderr, error?.code]))
  })

const refused: readonly { readonly args: readonly string[]; readonly line: string }[] = [
  { args: ['a.env', 'b.env'], line: 'pass one argument: the environment file that npm start printed' },
  {
    args: ['missing.env'],
    line: 'cannot read missing.env (ENOENT): pass the environment file that npm start printed',
  },
  { args: [], line: 'pass one argument: the environment file that npm start printed' },
  { args: ['docs'], line: 'cannot read docs (EISDIR): pass the environment file that npm start printed' },
]

// By default one of each line. Each is a process that compiles the example.
test.concurrent.each(byForm(refused.slice(0, 2), refused))(
  'the example of a receiver ends with one line for the arguments $args',
  async ({ args, line }) => {
    expect(await failureOf(...args)).toEqual([`${line}\n`, 1])
  },
)
