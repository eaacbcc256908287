import { expect, test } from 'vitest'
import { defaultClaims, meOf } from '../../src/identity/me.ts'

const address = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const long = 'x'.repeat(100_000)

test('claims that are longer than the limit are not passed on', () => {
  const answer = { sub: 'user-1', email: `${long}@bank.example`, phone_number: long, external_id: long, address }
  expect(meOf(answer, defaultClaims)).toEqual({
    user: 'user-1',
    email: null,
    phoneNumber: null,
    externalId: null,
    address,
  })
})

test('a user whose name is too long is rejected and not truncated, because two truncated names could be equal', () => {
  expect(() => meOf({ sub: long, address }, defaultClaims)).toThrow('has no user')
})
