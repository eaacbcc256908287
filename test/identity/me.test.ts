import { expect, test } from 'vitest'
import { defaultClaims, meOf } from '../../src/identity/me.ts'

const address = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const other = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
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

test.each([
  ['OpenID claims', { sub: 'a', id: 'b', address: other, wallets: [{ address }] }, { user: 'a', address: other }],
  ['an id', { id: 'b', address }, { user: 'b' }],
  ['a postal address and wallets', { sub: 'a', address: { street: 'x' }, wallets: [{ address }] }, { address }],
  ['a list of wallets', { sub: 'a', wallets: [address, other] }, { address }],
  ['a wallet', { sub: 'a', wallet: { address } }, { address }],
  ['an empty subject and an id', { sub: '', id: 'b', address }, { user: 'b' }],
  ['a number as subject', { sub: 7, id: 'b', address }, { user: 'b' }],
  [
    'a phone and an external id',
    { sub: 'a', address, phone_number: '+1', external_id: 'x' },
    { phoneNumber: '+1', externalId: 'x' },
  ],
  ['no e-mail address', { sub: 'a', address, email: 'nobody' }, { email: null, phoneNumber: null, externalId: null }],
  ['an e-mail address', { sub: 'a', address, email: 'a@b.example' }, { email: 'a@b.example' }],
])('a user is read from %s', (_, answer, expected) => {
  expect(meOf(answer, defaultClaims)).toMatchObject(expected)
})

test.each([
  [256, true],
  [257, false],
])('a name of %i characters is read: %s', (length, isRead) => {
  const read = () => meOf({ sub: 'x'.repeat(length), address }, defaultClaims)
  if (isRead) expect(read()).toMatchObject({ user: 'x'.repeat(length) })
  else expect(read).toThrow('has no user')
})

test.each([
  [{ sub: 'a' }, 'has no wallet address'],
  [{ sub: 'a', address: '0x12' }, 'has no wallet address'],
  [{ address }, 'has no user'],
  [null, 'has no user'],
  ['text', 'has no user'],
])('%j is no user', (answer, message) => {
  expect(() => meOf(answer, defaultClaims)).toThrow(message)
})

test('a path reads only what the answer itself has', () => {
  const claims = { ...defaultClaims, user: ['length', 'constructor.name', 'names.1'] }
  expect(meOf({ names: ['a', 'b'], address }, claims)).toMatchObject({ user: 'b' })
})
