import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deliveries } from '../../src/db/schema-webhooks.ts'
import { builtCommand } from '../support/built.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { openReceiver } from '../support/webhook-receiver.ts'

const exec = promisify(execFile)

let store: TestDatabase
let receiver: Awaited<ReturnType<typeof openReceiver>>
beforeAll(async () => {
  store = await createTestDatabase()
  receiver = await openReceiver()
})
afterAll(async () => {
  await receiver?.close()
  await store?.close()
})

const key = randomBytes(32).toString('hex')

/** Runs a command as an operator does. */
const webhooks = async (...args: readonly string[]): Promise<{ code: number; text: string }> => {
  const { command, args: before } = builtCommand('webhooks', ...args)
  const env = { PATH: process.env.PATH, DATABASE_URL: store.url, WEBHOOKS_KEY: key, WEBHOOKS_ALLOW_LOOPBACK: 'true' }
  return exec(command, before, { env }).then(
    ({ stdout }) => ({ code: 0, text: stdout }),
    (fault: { code: number; stderr: string }) => ({ code: fault.code, text: fault.stderr }),
  )
}

test('an operator registers, tests, rotates, pauses, resumes, replays and removes an endpoint', async () => {
  expect((await webhooks('list')).text).toContain('no endpoint: add one with webhooks add')
  const types = 'settlement.settled,event.changed'
  const added = await webhooks('add', '--url', receiver.url, '--types', types, '--chains', '8453', '--events', '1,2')
  const [, id = '', secret = ''] = /^endpoint: (we_\w{12})\nsecret: (whsec_\S+)\n/.exec(added.text) ?? []
  expect(added.code).toBe(0)

  expect((await webhooks('ping', id)).text).toBe(`${receiver.url} accepted the message: status 204\n`)
  const [ping] = receiver.received
  const verify = (by: string, at = receiver.received.at(-1)) =>
    new Webhook(by).verify(at?.body ?? '', (at?.headers ?? {}) as Record<string, string>)
  expect([verify(secret), ping?.headers['webhook-id']]).toMatchObject([
    { type: 'webhook.ping', data: { endpoint: id } },
    expect.stringMatching(/^webhook\.ping\.\d+$/),
  ])

  const rotated = await webhooks('rotate', id)
  const [, next = ''] = /^secret: (whsec_\S+)\n/.exec(rotated.text) ?? []
  await webhooks('ping', id)
  for (const by of [secret, next]) expect(verify(by)).toMatchObject({ type: 'webhook.ping' })

  expect((await webhooks('pause', id)).text).toMatch(/^paused/)
  expect((await webhooks('list')).text).toMatch(
    new RegExp(`^${id} {2}paused .*\n.*chains 8453, 2 events; last success never\n$`),
  )
  expect((await webhooks('resume', id)).text).toMatch(/^active/)

  const database = openDatabase(store.url)
  const at = new Date('2026-11-20T00:00:00Z')
  const dead = { endpoint: id, seq: 7, entity: 'a', body: '{}', state: 'dead', nextAt: at, endedAt: at } as const
  await database.run((handle) =>
    handle.insert(deliveries).values({ ...dead, id: 'settlement.settled.7', attempt: 10, failure: 'status 500' }),
  )
  await database.close()
  const line = 'settlement.settled.7  dead  attempts 10  2026-11-20T00:00:00.000Z  status 500\n'
  expect((await webhooks('deliveries', id, '--state', 'dead')).text).toBe(line)
  expect((await webhooks('deliveries', id, '--state', 'waiting')).text).toBe('no delivery\n')
  const replays = [['--message', 'settlement.settled.8'], ['--since', '2026-11-21'], ['--since', '2026-11-19'], []].map(
    (args) => () => webhooks('replay', id, ...args),
  )
  const counts: string[] = []
  for (const replay of replays) counts.push((await replay()).text)
  expect(counts.map((text) => text[0])).toEqual(['0', '0', '1', '0'])

  expect((await webhooks('remove', id)).text).toContain('removed')
  expect(await webhooks('ping', id)).toEqual({
    code: 1,
    text: `there is no endpoint ${id}: run webhooks list for the ids\n`,
  })
})

test.each([
  [['add', '--types', 'event.changed'], 'url: expected a URL such as https://example.com/hooks'],
  [['add', '--url', 'https://10.0.0.1/', '--types', 'event.changed'], 'url: 10.0.0.1 is not a public address'],
  [['add', '--url', 'http://example.com/', '--types', 'event.changed'], 'url: expected https'],
  [['add', '--url', 'https://example.com/'], 'types: expected one of settlement.settled'],
  [['add', '--url', 'https://example.com/', '--types', 'x'], 'types: expected one of settlement.settled'],
  [['add', '--url', 'https://example.com/', '--types', 'event.changed', '--chains', '1'], 'chains: expected one of'],
  [['add', '--url', 'https://example.com/', '--types', 'event.changed', '--events', '1'], 'chains: expected one chain'],
  [['add', '--url', 'https://example.com/', '--types', 'wallet.changed', '--wallets', '0x1'], 'wallets: expected an'],
  [['ping'], 'ID: name an endpoint'],
  [['rotate', 'we_none'], 'there is no endpoint we_none'],
  [['deliveries', 'we_none', '--state', 'x'], 'there is no endpoint we_none'],
])('webhooks %j fails and names what to change', async (args, expected) => {
  const { code, text } = await webhooks(...args)
  expect(text).toContain(expected)
  expect(code).toBeGreaterThan(0)
})
