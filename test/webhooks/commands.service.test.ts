import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { text as textOfStream } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database } from '../../src/db/pool.ts'
import { deliveries } from '../../src/db/schema-webhooks.ts'
import { changeEndpoint } from '../../src/db/webhooks/endpoints.ts'
import { deliver } from '../../src/webhooks/deliver.ts'
import { createPost } from '../../src/webhooks/post.ts'
import { createVault } from '../../src/webhooks/secrets.ts'
import { builtCommand } from '../support/built.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { openReceiver } from '../support/webhook-receiver.ts'

const exec = promisify(execFile)

let store: TestDatabase
let database: Database
let receiver: Awaited<ReturnType<typeof openReceiver>>
beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url)
  receiver = await openReceiver()
})
afterAll(async () => {
  await receiver?.close()
  await database?.close()
  await store?.close()
})

const key = randomBytes(32).toString('hex')
const vault = createVault([Buffer.from(key, 'hex')])

/** The environment of an operator. */
const environment = () => ({
  ...{ PATH: process.env.PATH, DATABASE_URL: store.url },
  ...{ WEBHOOKS_KEY: key, WEBHOOKS_ALLOW_LOOPBACK: 'true' },
})

/** Runs a command as an operator does. */
const webhooks = async (...args: readonly string[]): Promise<{ code: number; text: string }> => {
  const { command, args: before } = builtCommand('webhooks', ...args)
  return exec(command, before, { env: environment() }).then(
    ({ stdout }) => ({ code: 0, text: stdout }),
    (fault: { code: number; stderr: string }) => ({ code: fault.code, text: fault.stderr }),
  )
}

/** Runs a command whose output is closed. */
const withClosedOutput = async (...args: readonly string[]): Promise<{ code: number; text: string }> => {
  const { command, args: before } = builtCommand('webhooks', ...args)
  const child = spawn(command, before, { env: environment(), stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.destroy()
  const [[code], text] = await Promise.all([once(child, 'exit'), textOfStream(child.stderr)])
  return { code, text }
}

const secretIn = (text: string): string => /^secret: (whsec_\S+)$/m.exec(text)?.[1] ?? ''

/** Registers an endpoint of settlements. */
const add = async (url = receiver.url): Promise<{ id: string; secret: string; text: string }> => {
  const { text } = await webhooks('add', '--url', url, '--types', 'settlement.settled,settlement.reverted')
  return { id: /we_\w{12}/.exec(text)?.[0] ?? '', secret: secretIn(text), text }
}

const HOUR_MS = 3_600_000

/** Stores a delivery that became dead two hours ago. */
const storeDead = (endpoint: string, id: string, to: Partial<typeof deliveries.$inferInsert> = {}) => {
  const at = new Date(Date.now() - 2 * HOUR_MS)
  const dead = { state: 'dead', attempt: 10, failure: 'status 500', nextAt: at, sentAt: at, endedAt: at } as const
  const row = { endpoint, id, seq: Number(id.split('.').at(-1)), entity: 'a', body: '{}', ...dead, ...to }
  return database.run((handle) => handle.insert(deliveries).values(row))
}

/** Stores a delivery that waits for a number of hours. */
const storeWaiting = (endpoint: string, id: string, hours: number, to: Partial<typeof deliveries.$inferInsert> = {}) =>
  storeDead(endpoint, id, {
    ...{ state: 'waiting', attempt: 0, failure: null, sentAt: null, endedAt: null },
    ...{ nextAt: new Date(Date.now() + hours * HOUR_MS), ...to },
  })

/** Delivers what is due at a time, and returns the ids in the order in which the receiver got them. */
const delivered = async (id: string, at = Date.now()): Promise<string[]> => {
  receiver.received.length = 0
  const post = createPost({ allowsLoopback: true })
  await deliver({ database, vault, post, now: () => at, random: () => 0 }, id, new AbortController().signal)
  return receiver.received.map(({ headers }) => String(headers['webhook-id']))
}

const verify = (by: string) => {
  const { body = '', headers = {} } = receiver.received.at(-1) ?? {}
  return new Webhook(by).verify(body, headers as Record<string, string>)
}

test('an operator registers, tests, lists, pauses and removes an endpoint', async () => {
  expect((await webhooks('list')).text).toBe('no endpoint: add one with webhooks add\n')
  const types = 'settlement.settled,event.changed'
  const events = ['--chains', '8453,8453', '--events', '1,2,3,4,5']
  const added = await webhooks('add', '--url', receiver.url, '--types', types, ...events)
  const [, id = '', secret = ''] = /^endpoint: (we_\w{12})\nsecret: (whsec_\S+)\n/.exec(added.text) ?? []
  expect(added.code).toBe(0)

  expect((await webhooks('ping', id)).text).toBe(`${receiver.url} accepted the message: status 204\n`)
  expect([verify(secret), receiver.received.at(-1)?.headers['webhook-id']]).toMatchObject([
    { type: 'webhook.ping', data: { endpoint: id } },
    expect.stringMatching(/^webhook\.ping\.\d+$/),
  ])

  expect((await webhooks('pause', id)).text).toMatch(/^paused/)
  expect((await webhooks('list')).text).toMatch(
    new RegExp(`^${id} {2}paused .*\n.*; chain 8453; events 1, 2, 3 and 2 more; last success never\n$`),
  )
  const stopped = `${id} is paused: deliveries stay stopped until webhooks resume ${id}`
  expect((await webhooks('ping', id)).text).toContain(`status 204\n${stopped}\n`)

  expect((await webhooks('remove', id)).text).toContain('removed')
  expect(await webhooks('ping', id)).toEqual({
    code: 1,
    text: `there is no endpoint ${id}: run webhooks list for the ids\n`,
  })
})

test('resume sends dead messages first, and what waits for a later attempt at once', async () => {
  const { id } = await add()
  await storeDead(id, 'settlement.settled.1002')
  await storeWaiting(id, 'settlement.reverted.1003', -1)
  const sentAt = new Date(Date.now() - 3 * HOUR_MS)
  await storeWaiting(id, 'settlement.settled.1004', 21, { entity: 'b', attempt: 8, sentAt })
  await storeWaiting(id, 'settlement.reverted.1005', -1, { entity: 'b' })
  // An attempt that is under way: no other worker may send the message.
  await storeWaiting(id, 'settlement.settled.1006', 1 / 60, { entity: 'c', sentAt: new Date() })
  const failing = { state: 'paused', failingSince: sentAt, retryAt: new Date(Date.now() + HOUR_MS) } as const
  await database.run((handle) => changeEndpoint(handle, id, failing))

  const { text } = await webhooks('resume', id)
  expect(text).toBe('active: deliveries continue now, with 5 waiting messages (dead before: 1)\n')
  const ids = await delivered(id)
  const inOrder = (...names: string[]) => expect(ids.filter((name) => names.includes(name))).toEqual(names)
  inOrder('settlement.settled.1002', 'settlement.reverted.1003')
  inOrder('settlement.settled.1004', 'settlement.reverted.1005')
  expect(ids).toHaveLength(4)
})

test('resume with --leave-dead sends only what waits', async () => {
  const { id } = await add()
  await storeDead(id, 'settlement.settled.1002')
  await storeWaiting(id, 'settlement.reverted.1003', -1)
  await database.run((handle) => changeEndpoint(handle, id, { state: 'paused' }))
  const { text } = await webhooks('resume', id, '--leave-dead')
  expect(text).toBe('active: deliveries continue now, with 1 waiting message (dead before: 0)\n')
  expect(await delivered(id)).toEqual(['settlement.reverted.1003'])
  expect((await webhooks('replay', id)).text).toBe('sent again: 1 message\n')
  expect(await delivered(id)).toEqual(['settlement.settled.1002'])
})

test('an answer of 410 disables an endpoint with its message waiting, and resume sends it', async () => {
  let status = 410
  const gone = await openReceiver((response) => void response.writeHead(status).end())
  try {
    const { id } = await add(gone.url)
    await storeWaiting(id, 'settlement.settled.1002', -1)
    await delivered(id)
    expect((await webhooks('list')).text).toContain(`${id}  disabled  `)
    expect((await webhooks('deliveries', id)).text).toContain('settlement.settled.1002  waiting  attempts 1  ')
    status = 204
    // Its attempt began less than a minute ago, so the message is due within a minute.
    const { text } = await webhooks('resume', id)
    expect(text).toBe('active: deliveries continue now, with 1 waiting message (dead before: 0)\n')
    await delivered(id, Date.now() + 61_000)
    expect(gone.received).toHaveLength(2)
  } finally {
    await gone.close()
  }
})

test('of two rotations at once one succeeds, and a further one needs --end-previous', async () => {
  const { id, secret } = await add()
  const both = await Promise.all([webhooks('rotate', id), webhooks('rotate', id)])
  expect(both.map(({ code }) => code).toSorted()).toEqual([0, 1])
  const refused = both.find(({ code }) => code === 1)?.text
  expect(refused).toMatch(/^we_\w+ has two secrets until \d{4}-\S+Z, .* --end-previous\n$/)
  const second = secretIn(both.find(({ code }) => code === 0)?.text ?? '')
  await webhooks('ping', id)
  for (const by of [secret, second]) expect(verify(by)).toMatchObject({ type: 'webhook.ping' })

  const third = secretIn((await webhooks('rotate', id, '--end-previous')).text)
  await webhooks('ping', id)
  for (const by of [second, third]) expect(verify(by)).toMatchObject({ type: 'webhook.ping' })
  expect(() => verify(secret)).toThrow('No matching signature found')
})

test('replay repeats dead messages, or ended ones that an option selects', async () => {
  const { id } = await add()
  expect((await webhooks('deliveries', id)).text).toBe('no delivery; delivered messages about changes are not kept\n')
  expect((await webhooks('replay', id)).text).toBe('nothing is dead\n')
  const endedAt = new Date('2026-11-20T00:00:00Z')
  await storeDead(id, 'settlement.settled.7', { endedAt })
  const line = 'settlement.settled.7  dead  attempts 10  ended 2026-11-20T00:00:00.000Z  status 500\n'
  expect((await webhooks('deliveries', id, '--state', 'dead')).text).toBe(line)
  expect((await webhooks('deliveries', id, '--state', 'waiting')).text).toContain('no waiting delivery')

  const after = await webhooks('replay', id, '--since', '2026-11-21T00:00:00Z')
  expect(after.text).toBe('no message that is kept was delivered or became dead since 2026-11-21T00:00:00.000Z\n')
  await webhooks('pause', id)
  const since = await webhooks('replay', id, '--since', '2026-11-20T01:00:00+02:00')
  expect(since.text).toBe(
    `sent again: 1 message\n${id} is paused: deliveries stay stopped until webhooks resume ${id}\n`,
  )
  await webhooks('resume', id)
  expect(await delivered(id)).toEqual(['settlement.settled.7'])
  expect((await webhooks('replay', id, '--message', 'settlement.settled.7')).text).toBe('sent again: 1 message\n')

  for (const message of ['settlement.settled.7', 'settlement.settled.8', '']) {
    expect(await webhooks('replay', id, '--message', message)).toEqual({
      code: 1,
      text: `no delivered or dead message "${message}" of ${id} is kept: run webhooks deliveries ${id} for the ids and states\n`,
    })
  }
  const two = await webhooks('replay', id, '--since', '2026-11-20T00:00:00Z', '--message', 'settlement.settled.7')
  expect(two).toEqual({ code: 2, text: 'since: expected without --message\n' })
})

test('a URL that is registered already is accepted with a warning', async () => {
  const url = `${receiver.url}/twice`
  const { id, text } = await add(url)
  expect(text).not.toContain('warning')
  expect((await add(url)).text).toContain(
    `warning: the URL is also that of ${id}: it gets messages from each of them\n`,
  )
})

test('a closed output ends a command without a stack, and keeps the secrets as they are', async () => {
  const { id, secret } = await add()
  expect(await withClosedOutput('list')).toEqual({ code: 1, text: '' })
  const kept = 'the output is closed: the secret was not shown, and nothing was changed\n'
  expect(await withClosedOutput('rotate', id)).toEqual({ code: 1, text: kept })
  await webhooks('ping', id)
  expect(verify(secret)).toMatchObject({ type: 'webhook.ping' })
  expect((await webhooks('rotate', id)).code).toBe(0)

  const url = `${receiver.url}/closed`
  expect(await withClosedOutput('add', '--url', url, '--types', 'event.changed')).toEqual({ code: 1, text: kept })
  expect((await webhooks('list')).text).not.toContain(url)
})

test.each([
  [['add', '--url', 'https://10.0.0.1/', '--types', 'event.changed'], 'url: 10.0.0.1 is not a public address'],
  [['add', '--url', 'https://localhost/', '--types', 'event.changed'], 'url: localhost is not a public address'],
  [['add', '--url', 'https://1.2.3.4:0/', '--types', 'event.changed'], 'url: expected a port from 1 to 65535'],
  [['remove', 'we_\u001b[31m'], 'ID: expected text without control characters, got "we_\\u001b[31m"'],
  [['ping'], 'ID: name an endpoint'],
  [['rotate', 'we_none'], 'there is no endpoint we_none'],
  [['resume', 'we_none'], 'there is no endpoint we_none'],
  [['deliveries', 'we_none', '--state', 'x'], 'there is no endpoint we_none'],
])('webhooks %j fails and names what to change', async (args, expected) => {
  const { code, text } = await webhooks(...args)
  expect(text).toContain(expected)
  expect(code).toBeGreaterThan(0)
})
