import { describe, expect, test } from 'vitest'
import { profiles } from '../../src/protocol/profiles.ts'
import * as record from '../../src/protocol/records.ts'
import { eventFields, fieldsOf, positionInclusions, shownBy, showsValues } from '../../src/protocol/rows.ts'
import { blockOf, seedEvent, seedToken } from '../support/seed-index.ts'

test.each([
  [undefined, false],
  [['stats', 'payout'], false],
  [['value'], true],
  [['stale-value'], true],
])('rows with %j show values: %s', (include, shows) => {
  expect(showsValues(include)).toBe(shows)
})

test('each kind shows its own inclusions', () => {
  const event = ['stats', 'utilization', 'range']
  expect(shownBy('event', positionInclusions)).toEqual(event)
  expect(shownBy('deposit', positionInclusions)).toEqual([...event, 'event'])
  expect(shownBy('position', positionInclusions)).toEqual(positionInclusions)
  expect(shownBy('position', ['range', 'stats'])).toEqual(['range', 'stats'])
})

test('rows have a field for each inclusion, once, in the given order, and a stale value under the name of the value', () => {
  expect(fieldsOf([])).toEqual([])
  expect(fieldsOf(['range'])).toEqual(['range'])
  expect(fieldsOf(['payout', 'stats', 'payout'])).toEqual(['payout', 'stats'])
  expect(fieldsOf(['stale-value', 'value'])).toEqual(['value'])
  expect(fieldsOf(positionInclusions)).toEqual(['stats', 'utilization', 'range', 'event', 'value', 'payout'])
})

describe('the fields of an event', () => {
  const { seen } = seedEvent(1, { token: seedToken, wallets: 10, events: 1, rowsABlock: 1 })
  const event = { ...seen, time: blockOf(70n).timestamp }
  const summary = record.eventSummary(event)

  test('are the records of its single reads, its summary and the terms of its value', () => {
    expect(eventFields(event, 'reference', fieldsOf(positionInclusions))).toEqual({
      stats: record.eventStats(seen.stats),
      utilization: record.utilization(event, profiles.reference),
      range: record.eventRange(seen.range),
      event: summary,
      value: record.valueTerms(summary),
    })
    expect(summary).toMatchObject({ id: 1, name: seen.core.name })
  })

  test('are those that are asked for, in their order, without the payout', () => {
    const named = (...fields: Parameters<typeof eventFields>[2]) => Object.keys(eventFields(event, 'reference', fields))
    expect(named('range', 'payout', 'stats')).toEqual(['range', 'stats'])
    expect(named('stats', 'event', 'range')).toEqual(['stats', 'event', 'range'])
    expect([named('payout'), named()]).toEqual([[], []])
  })

  test('have the capacity by the profile of the deployment', () => {
    const capacity = (profile: 'reference' | 'deployed') =>
      eventFields(event, profile, ['utilization']).utilization as { readonly availableCapacity: string }
    expect(capacity('reference')).toEqual(record.utilization(event, profiles.reference))
    expect(capacity('deployed')).toEqual(record.utilization(event, profiles.deployed))
    expect(capacity('deployed').availableCapacity).not.toBe(capacity('reference').availableCapacity)
  })

  test('show an open event as open before its expiry, by the time of its block', () => {
    const statesAt = (time: bigint) => {
      const { event: shown, value } = eventFields({ ...event, time }, 'reference', ['event', 'value'])
      return [shown, value].map((it) => (it as { readonly state: string }).state)
    }
    const { expiryDate } = seen.core
    expect([statesAt(expiryDate - 1n), statesAt(expiryDate)]).toEqual([
      ['open', 'open'],
      ['expired', 'expired'],
    ])
  })
})
