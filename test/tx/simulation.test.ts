import { expect, test } from 'vitest'
import { Simulation, simulationRecord } from '../../src/tx/simulation.ts'

const nothing = { code: null, reason: null, hint: null }
const error = (message: string) => ({ data: null, message })

test('a record is one of its schema, whatever the call did', () => {
  const records = [
    simulationRecord({ status: 'success', blockNumber: 7n }, 'deposit'),
    simulationRecord({ status: 'success', blockNumber: null }, 'deposit'),
    simulationRecord({ status: 'unavailable' }, 'deposit'),
    simulationRecord({ status: 'success', blockNumber: 2n ** 60n }, 'deposit'),
  ]
  expect(records).toEqual([
    { status: 'success', ...nothing, blockNumber: 7 },
    { status: 'success', ...nothing, blockNumber: null },
    { status: 'unavailable', ...nothing, blockNumber: null },
    { status: 'success', ...nothing, blockNumber: Number.MAX_SAFE_INTEGER },
  ])
  for (const record of records) expect(Simulation.parse(record)).toEqual(record)
})

test('a revert has the reason of the function that was called', () => {
  const codeOf = (message: string, name: string) =>
    simulationRecord({ status: 'reverted', error: error(`execution reverted: ${message}`), blockNumber: 7n }, name)
  expect(codeOf('Insufficient balance', 'deposit')).toMatchObject({
    ...{ status: 'reverted', code: 'insufficient_balance', reason: 'Insufficient balance', blockNumber: 7 },
  })
  expect([codeOf('Paused', 'deposit').code, codeOf('Paused', 'pause').code]).toEqual([
    'protocol_paused',
    'already_paused',
  ])
  expect(codeOf('made up', 'deposit')).toMatchObject({ code: 'unknown_reason', reason: 'made up' })
})
