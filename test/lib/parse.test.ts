import { expect, test } from 'vitest'
import { z } from 'zod'
import type { ServiceError } from '../../src/lib/errors.ts'
import { parseInput, refusal, safeParse } from '../../src/lib/http/parse.ts'

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

test.each<readonly [string, z.ZodType, unknown, string]>([
  ['text that is too short', z.object({ a: z.string().min(1) }), { a: '' }, 'a: expected at least 1 character'],
  ['text that is shorter', z.object({ a: z.string().min(2) }), { a: '' }, 'a: expected at least 2 characters'],
  ['text that is too long', z.object({ a: z.string().max(1) }), { a: 'ab' }, 'a: expected at most 1 characters'],
  ['a list that is too short', z.object({ a: z.array(z.any()).min(1) }), { a: [] }, 'a: Too small'],
  ['a value of another type', z.object({ a: z.boolean() }), { a: 1 }, 'a: expected true or false, without quotes'],
  ['a missing value', z.object({ a: z.string() }), {}, 'a: is required: expected text'],
  ['a null value', z.object({ a: z.string() }), { a: null }, 'a: expected text'],
  ['a missing body', z.object({}), null, 'body: is required: expected a JSON object'],
  ['a list as a body', z.object({}), [], 'body: expected a JSON object'],
  [
    'fields that do not fit',
    z.object({ a: z.string().optional() }).refine(() => false, { path: ['a'], error: 'not with b' }),
    {},
    'a: not with b',
  ],
])('%s is named', (_, expected, value, message) => {
  const { error } = safeParse(expected, value)
  const refused = refusal(error?.issues ?? [], 'body', value).message
  // Other kinds of bounds have the message of the schema.
  expect(refused.startsWith('a: Too small') ? 'a: Too small' : refused).toBe(message)
  expect(() => parseInput(expected, value, 'body')).toThrow(refused)
})

test('each unknown field has its own hint, and a message of many faults is cut', () => {
  const { error } = safeParse(schema, { amounts: [], one: 1, two: 2 })
  const refused = refusal(error?.issues ?? [], 'body', {}, (key) => `: hint of ${key}`)
  expect(refused.details?.map(({ message }) => message)).toEqual([
    'unknown field: hint of one',
    'unknown field: hint of two',
  ])
  const long = refusalOf({
    amounts: [],
    ...Object.fromEntries(Array.from({ length: 20 }, (_, at) => ['n'.repeat(50) + at, 1])),
  })
  expect(long.message).toHaveLength(600)
  expect(long.message).toMatch(/…$/)
})
