import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { expect, test, vi } from 'vitest'
import { createVault, newSecret } from '../../src/webhooks/secrets.ts'
import { sign } from '../../src/webhooks/signature.ts'

const keys = [randomBytes(32), randomBytes(32), randomBytes(32)] as const

test('the first key encrypts, and each key decrypts', () => {
  const [first, second, third] = keys
  const stored = createVault([second]).encrypt('we_1', 'whsec_a')
  expect(createVault([first, third, second]).decrypt('we_1', stored)).toBe('whsec_a')
  const renewed = createVault([first, second]).encrypt('we_1', 'whsec_b')
  expect(createVault([first]).decrypt('we_1', renewed)).toBe('whsec_b')
  expect(() => createVault([second, third]).decrypt('we_1', renewed)).toThrow(
    'the secret of we_1 cannot be decrypted: add the key that it was stored with to WEBHOOKS_KEY',
  )
})

test('a stored secret belongs to its endpoint, differs each time, and is refused when it was changed', () => {
  const vault = createVault([keys[0]])
  const stored = vault.encrypt('we_1', 'whsec_a')
  expect(vault.encrypt('we_1', 'whsec_a')).not.toBe(stored)
  expect(() => vault.decrypt('we_2', stored)).toThrow('cannot be decrypted')
  for (const at of [0, 12, 28]) {
    const bytes = Buffer.from(stored, 'base64')
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
    expect(() => vault.decrypt('we_1', bytes.toString('base64'))).toThrow('cannot be decrypted')
  }
  expect(() => vault.decrypt('we_1', '')).toThrow('cannot be decrypted')
})

test('a new secret has 32 random bytes in the form of Standard Webhooks', () => {
  const [first, second] = [newSecret(), newSecret()]
  expect(first).toMatch(/^whsec_[A-Za-z\d+/]{43}=$/)
  expect(second).not.toBe(first)
})

test('a message is signed with each secret, for its id, second and body', () => {
  const secrets = [newSecret(), newSecret(), newSecret()]
  const message = { id: 'event.changed.1', body: '{"a":"é"}' }
  const at = new Date('2026-11-25T10:00:00.999Z')
  const signed = sign(message, secrets.slice(0, 2), at)
  expect(signed).toMatchObject({ 'webhook-id': message.id, 'webhook-timestamp': '1795600800' })
  expect(signed['webhook-signature']).toMatch(/^v1,\S{44} v1,\S{44}$/)
  const clock = vi.spyOn(Date, 'now').mockReturnValue(at.getTime())
  try {
    const verify = (secret = '', body = message.body) => new Webhook(secret).verify(body, { ...signed })
    for (const secret of secrets.slice(0, 2)) expect(verify(secret)).toEqual({ a: 'é' })
    expect(() => verify(secrets[2])).toThrow('No matching signature')
    expect(() => verify(secrets[0], '{}')).toThrow('No matching signature')
  } finally {
    clock.mockRestore()
  }
})
