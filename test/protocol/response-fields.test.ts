import { expect, test } from 'vitest'
import { ServiceError } from '../../src/lib/errors.ts'
import { integer } from '../../src/protocol/fields/response-fields.ts'

test('no integer above 2^53 - 1 becomes a JSON number', () => {
  expect(integer(2n ** 53n - 1n)).toBe(Number.MAX_SAFE_INTEGER)
  expect(() => integer(2n ** 53n)).toThrow(ServiceError)
})
