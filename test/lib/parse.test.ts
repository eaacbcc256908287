import { expect, test } from 'vitest'
import { z } from 'zod'
import type { ServiceError } from '../../src/lib/errors.ts'
import { parseInput } from '../../src/lib/parse.ts'

const schema = z.strictObject({ amounts: z.array(z.string({ error: 'expected text' })) })

const refusalOf = (value: unknown): ServiceError => {
  try {
    parseInput(schema, value, 'body')
  } catch (error) {
    return error as ServiceError
  }
  throw new Error('the value was accepted')
}

const names = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`name${at}`, 1]))

test('up to 20 faults are listed one by one, in the details and in the message', () => {
  const { message, details } = refusalOf({ amounts: [1], ...names(19) })
  expect(details).toHaveLength(20)
  expect(details?.[0]).toEqual({ path: 'amounts.0', message: 'expected text' })
  expect(message).toMatch(/^amounts\.0: expected text; name0: unknown field; .*; name18: unknown field$/)
})

test('faults beyond 20, invalid values and unknown fields alike, are counted at the end of the message', () => {
  const values = refusalOf({ amounts: Array(1_000).fill(1) })
  expect(values.details).toHaveLength(20)
  expect(values.message).toMatch(/; and 980 more$/)
  const unknown = refusalOf({ amounts: [], ...names(60_000) })
  expect(unknown.details).toHaveLength(20)
  expect(unknown.message).toMatch(/; and 59980 more$/)
  expect(refusalOf({ amounts: [1], ...names(20) }).message).toMatch(/; and 1 more$/)
})

test('the long name of an unknown field is cut, and its fault is still reported', () => {
  const { message, details } = refusalOf({ amounts: [], ['n'.repeat(60_000)]: 1 })
  expect(details).toEqual([{ path: `${'n'.repeat(59)}…`, message: 'unknown field' }])
  expect(message).toBe(`${'n'.repeat(59)}…: unknown field`)
})
