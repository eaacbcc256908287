import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { runKeys } from '../../src/compose/webhooks/keys.ts'
import { findApiKey } from '../../src/db/api-keys.ts'
import { apiKeys } from '../../src/db/schema/webhooks.ts'
import { hashApiKey } from '../../src/identity/api-keys.ts'
import { type Outcome, runCommand } from '../support/run-command.ts'
import { openWebhookStore, type WebhookStore } from '../support/webhook-store.ts'

let store: WebhookStore
beforeAll(async () => {
  store = await openWebhookStore()
})
afterAll(() => store?.close())
beforeEach(async () => {
  await store.clear()
  await store.database.run((handle) => handle.delete(apiKeys))
})

const run = (...[name, flags = {}, id, isClosed]: [...Partial<Parameters<typeof runKeys>>, isClosed?: boolean]) =>
  runCommand(() => runKeys(name ?? 'list', flags, id), { DATABASE_URL: store.url }, isClosed)

const keyIn = ({ text }: Outcome): string => /^key: (fxk_[\w-]{43})$/m.exec(text)?.[1] ?? ''
const idIn = ({ text }: Outcome): string => /^id: (ak_[0-9a-f]{12})$/m.exec(text)?.[1] ?? ''

/** The id of a key as the API finds it. */
const found = (key: string) => store.database.run((handle) => findApiKey(handle, hashApiKey(key)))

test('the operator makes a key, which is printed once and stored as its hash', async () => {
  expect((await run('list')).text).toBe('no key: add one with keys add\n')
  const added = await run('add', { name: ' Bank of Accra ' })
  const [id, key] = [idIn(added), keyIn(added)]
  expect([added.code, await found(key), await found(`${key}x`)]).toEqual([0, id, undefined])
  expect(added.text).toContain('The key is not shown again')
  await store.add('we_1', { apiKey: id })
  await store.add('we_2')
  const other = await run('add', { name: 'b' })
  const { text } = await run('list')
  expect(text).toMatch(
    /^ak_\w+ {2}Bank of Accra {2}since \S+Z {2}1 endpoint\nak_\w+ {2}b {2}since \S+Z {2}0 endpoints\n$/,
  )
  expect(text.indexOf(id)).toBeLessThan(text.indexOf(idIn(other)))
  const stored = await store.database.run((handle) => handle.select().from(apiKeys))
  expect(JSON.stringify(stored)).not.toContain(key.slice(4))
  expect(text).not.toContain(key)
})

test('a rotated key ends at once, and the new one has its endpoints', async () => {
  const added = await run('add', { name: 'a' })
  await store.add('we_1', { apiKey: idIn(added) })
  const rotated = await run('rotate', {}, idIn(added))
  expect(keyIn(rotated)).not.toBe(keyIn(added))
  expect([await found(keyIn(added)), await found(keyIn(rotated))]).toEqual([undefined, idIn(added)])
  expect(await store.endpoint('we_1')).toMatchObject({ apiKey: idIn(added), state: 'active' })
})

test('a key is removed with its endpoints and their deliveries, and without those of others', async () => {
  const [first, second] = [await run('add', { name: 'a' }), await run('add', { name: 'b' })]
  for (const [id, apiKey] of [
    ['we_1', idIn(first)],
    ['we_2', idIn(second)],
    ['we_3', null],
  ] as const) {
    await store.add(id, { apiKey })
    await store.store(id, 1)
  }
  expect(await run('remove', {}, idIn(first))).toEqual({
    ...{ code: 0, text: 'removed, with its endpoints and their deliveries\n' },
  })
  expect((await store.stored()).map(({ endpoint }) => endpoint)).toEqual(['we_2', 'we_3'])
  expect(await found(keyIn(first))).toBeUndefined()
  expect(await found(keyIn(second))).toBe(idIn(second))
})

test('a key that was not shown is not stored, and a rotation that was not shown changes nothing', async () => {
  expect((await run('add', { name: 'a' }, undefined, true)).code).toBe(1)
  expect((await run('list')).text).toContain('no key')
  const added = await run('add', { name: 'a' })
  const rotated = await run('rotate', {}, idIn(added), true)
  expect(rotated).toEqual({ code: 1, text: expect.stringContaining('nothing was changed') })
  expect(await found(keyIn(added))).toBe(idIn(added))
})

test.each([
  ['add', {}, undefined, 'name: expected a name of 1 to 100 characters'],
  ['add', { name: ' ' }, undefined, 'name: expected a name of 1 to 100 characters'],
  ['add', { name: 'a'.repeat(101) }, undefined, 'name: expected a name of 1 to 100 characters'],
  ['add', { name: 'a\u001b' }, undefined, 'name: expected text without control characters'],
  ['rotate', {}, undefined, 'ID: name a key: run keys list for the ids'],
  ['remove', {}, undefined, 'ID: name a key: run keys list for the ids'],
  ['rotate', {}, 'ak_1', 'there is no key ak_1: run keys list for the ids'],
  ['remove', {}, 'ak_1', 'there is no key ak_1: run keys list for the ids'],
] as const)('keys %s with %j and the id %s is refused: %s', async (name, flags, id, message) => {
  const { code, text } = await run(name, flags, id)
  expect(code).toBeGreaterThan(0)
  expect(text).toContain(message)
})
