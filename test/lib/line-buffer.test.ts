import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

const PROGRAM = `
import { pino } from 'pino'
import { createLineBuffer } from './src/lib/line-buffer.ts'
const lines = createLineBuffer(pino({ level: 'info' }))
lines.answered(lines.kind('GET', '/v1/chains', 200), 'request-1', 3, undefined)
process.exit(0)
`

test('buffered lines are written when the process exits', () => {
  const args = ['--import', 'tsx', '--input-type=module', '--eval', PROGRAM]
  const output = execFileSync(process.execPath, args, { encoding: 'utf8' })
  expect(JSON.parse(output)).toMatchObject({ requestId: 'request-1', route: '/v1/chains', status: 200, ms: 3 })
})
