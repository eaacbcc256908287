import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Target } from '../target.ts'

const FILE = 'test/chain/faults.test.ts'

/** Target 10 is a separate test; this runs it. */
export const nodeErrors: Target = {
  claim: 'error corpus of nodes',
  figure: 'every body classified, at most 4 requests, a rate limit never changes the width',
  async run() {
    const env = { ...process.env, NO_COLOR: '1' }
    const run = promisify(execFile)('npx', ['vitest', 'run', '--project', 'pure', FILE], { env })
    const passed = await run.then(
      ({ stdout }) => /Tests\s+(.*passed.*)/.exec(stdout)?.[1] ?? null,
      () => null,
    )
    return { measured: passed ?? `${FILE} does not pass`, met: passed !== null, failures: [] }
  },
}
