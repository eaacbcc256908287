import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

const PROGRAM = `
import { createLogger } from './src/lib/observe/log.ts'
const log = createLogger({ level: 'warn', process: 'test', secrets: ['hunter22'], fd: Number(process.argv[1]) })
log.info('less than the level')
log.warn({ fault: 'postgres://u:hunter22@db', signedTx: '0x1', privateKey: '0x2', body: { signedTx: '0x3', authorization: '6' },
  req: { headers: { authorization: 'Bearer 4' } }, databaseUrl: '5', chainId: 8453 }, 'kept hunter22')
`

test.each([1, 2])('a log on file descriptor %i has lines of its level, without secrets', (fd) => {
  const args = ['--import', 'tsx', '--input-type=module', '--eval', PROGRAM, String(fd)]
  const stdio = ['ignore' as const, ...([1, 2].map((it) => (it === fd ? 'pipe' : 'ignore')) as ('pipe' | 'ignore')[])]
  const output =
    fd === 1
      ? execFileSync(process.execPath, args, { encoding: 'utf8', stdio })
      : execFileSync('/bin/sh', ['-c', '"$0" "$@" 2>&1 >/dev/null', process.execPath, ...args], { encoding: 'utf8' })
  const lines = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines).toEqual([
    {
      ...{ level: 40, time: expect.stringMatching(/^\d{4}-.*Z$/), process: 'test', pid: expect.any(Number) },
      ...{ fault: 'postgres://u:<secret>@db', body: {}, req: { headers: {} }, chainId: 8453, msg: 'kept <secret>' },
    },
  ])
})
