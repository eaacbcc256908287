import { describe, expect, it } from 'vitest'
import { dayOf, parseMoment } from '../../explorer/src/text/moment.ts'

const OCTOBER = Date.UTC(2026, 9, 1) / 1_000

describe('the moment in the address of a page', () => {
  it('is a day, a time or Unix seconds, and stays as it was given', () => {
    expect(parseMoment('2026-10-01')).toEqual({ at: '2026-10-01', seconds: OCTOBER })
    expect(parseMoment('2026-10-01T02:00:00+02:00')).toEqual({ at: '2026-10-01T02:00:00+02:00', seconds: OCTOBER })
    expect(parseMoment(`${OCTOBER}`)).toEqual({ at: `${OCTOBER}`, seconds: OCTOBER })
  })

  it('is absent without a text', () => {
    expect([parseMoment(null), parseMoment('')]).toEqual([null, null])
  })

  it('is invalid when it is no day of the calendar, has no offset or is a block number', () => {
    for (const text of ['2026-06-31', '2026-13-01', '2026-10-01T02:00:00', '1234567', 'yesterday', '<b>']) {
      expect(parseMoment(text), text).toBe('invalid')
    }
  })

  it('is shown in a date field as its day', () => {
    expect(dayOf(OCTOBER - 1)).toBe('2026-09-30')
  })
})
