import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { text as textOfStream } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Flags } from '../../src/compose/flags.ts'
import { runWebhooks } from '../../src/compose/webhooks/commands.ts'
import type { Database } from '../../src/db/pool.ts'
import { deliveries } from '../../src/db/schema/webhooks.ts'
import { changeEndpoint, readEndpoint } from '../../src/db/webhooks/endpoints.ts'
import { knownTokens } from '../../src/protocol/tokens.ts'
import { deliver } from '../../src/webhooks/deliver.ts'
import { createPost } from '../../src/webhooks/post.ts'
import { createVault } from '../../src/webhooks/secrets.ts'
import { builtCommand } from '../support/built.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { type Outcome, runCommand } from '../support/run-command.ts'
import { openReceiver } from '../support/webhook-receiver.ts'

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
  ...{ DATABASE_URL: store.url, WEBHOOKS_KEY: key, WEBHOOKS_ALLOW_LOOPBACK: 'true' },
})

/** Runs a command in this process, as the program does with these options. Its output is closed if `isClosed`. */
const run = (name: Parameters<typeof runWebhooks>[0], flags: Flags = {}, id?: string, isClosed = false) =>
  runCommand(() => runWebhooks(name, flags, id), environment(), isClosed)

/** Runs a command in a process of its own, whose output is closed if `isClosed`. */
const inProcess = async (args: readonly string[], isClosed = false): Promise<Outcome> => {
  const { command, args: before } = builtCommand('webhooks', ...args)
  const env = { PATH: process.env.PATH, ...environment() }
  const child = spawn(command, before, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = isClosed ? '' : textOfStream(child.stdout)
  if (isClosed) child.stdout.destroy()
  const [[code], text, errors] = await Promise.all([once(child, 'exit'), output, textOfStream(child.stderr)])
  return { code, text: code === 0 ? text : errors }
}

const secretIn = (text: string): string => /^secret: (whsec_\S+)$/m.exec(text)?.[1] ?? ''

/** Registers an endpoint of settlements. */
const add = async (url = receiver.url): Promise<{ id: string; secret: string; text: string }> => {
  const { text } = await run('add', { url, types: 'settlement.settled,settlement.reverted' })
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
  await deliver(
    { database, tokens: knownTokens([]), vault, post, now: () => at, random: () => 0 },
    id,
    new AbortController().signal,
  )
  return receiver.received.map(({ headers }) => String(headers['webhook-id']))
}

const verify = (by: string) => {
  const { body = '', headers = {} } = receiver.received.at(-1) ?? {}
  return new Webhook(by).verify(body, headers as Record<string, string>)
}

test('an operator registers, tests, lists, pauses and removes an endpoint', async () => {
  expect((await run('list')).text).toBe('no endpoint: add one with webhooks add\n')
  const types = 'settlement.settled,event.changed'
  const added = await run('add', { url: receiver.url, types, chains: '8453,8453', events: '1,2,3,4,5' })
  const [, id = '', secret = ''] = /^endpoint: (we_\w{12})\nsecret: (whsec_\S+)\n/.exec(added.text) ?? []
  expect(added.code).toBe(0)

  expect((await run('ping', {}, id)).text).toBe(`${receiver.url} accepted the message: status 204\n`)
  expect([verify(secret), receiver.received.at(-1)?.headers['webhook-id']]).toMatchObject([
    { type: 'webhook.ping', data: { endpoint: id } },
    expect.stringMatching(/^webhook\.ping\.\d+$/),
  ])

  expect((await run('pause', {}, id)).text).toMatch(/^paused/)
  expect((await run('list')).text).toMatch(
    new RegExp(`^${id} {2}paused .*\n.*; chain 8453; events 1, 2, 3 and 2 more; last success never\n$`),
  )
  const stopped = `${id} is paused: deliveries stay stopped until webhooks resume ${id}`
  expect((await run('ping', {}, id)).text).toContain(`status 204\n${stopped}\n`)

  expect((await run('remove', {}, id)).text).toContain('removed')
  expect(await run('ping', {}, id)).toEqual({
    code: 1,
    text: `there is no endpoint ${id}: run webhooks list for the ids`,
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

  const { text } = await run('resume', {}, id)
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
  const { text } = await run('resume', { 'leave-dead': true }, id)
  expect(text).toBe('active: deliveries continue now, with 1 waiting message (dead before: 0)\n')
  expect(await delivered(id)).toEqual(['settlement.reverted.1003'])
  expect((await run('replay', {}, id)).text).toBe('sent again: 1 message\n')
  expect(await delivered(id)).toEqual(['settlement.settled.1002'])
})

test('an answer of 410 disables an endpoint with its message waiting, and resume sends it', async () => {
  let status = 410
  const gone = await openReceiver((response) => void response.writeHead(status).end())
  try {
    const { id } = await add(gone.url)
    await storeWaiting(id, 'settlement.settled.1002', -1)
    await delivered(id)
    expect((await run('list')).text).toContain(`${id}  disabled  `)
    expect((await run('deliveries', {}, id)).text).toContain('settlement.settled.1002  waiting  attempts 1  ')
    status = 204
    // Its attempt began less than a minute ago, so the message is due within a minute.
    const { text } = await run('resume', {}, id)
    expect(text).toBe('active: deliveries continue now, with 1 waiting message (dead before: 0)\n')
    await delivered(id, Date.now() + 61_000)
    expect(gone.received).toHaveLength(2)
  } finally {
    await gone.close()
  }
})

test('of two rotations at once one succeeds, and a further one needs --end-previous', async () => {
  const { id, secret } = await add()
  const both = await Promise.all([inProcess(['rotate', id]), inProcess(['rotate', id])])
  expect(both.map(({ code }) => code).toSorted()).toEqual([0, 1])
  const refused = both.find(({ code }) => code === 1)?.text
  expect(refused).toMatch(/^we_\w+ has two secrets until \d{4}-\S+Z, .* --end-previous\n$/)
  const second = secretIn(both.find(({ code }) => code === 0)?.text ?? '')
  await run('ping', {}, id)
  for (const by of [secret, second]) expect(verify(by)).toMatchObject({ type: 'webhook.ping' })

  const third = secretIn((await run('rotate', { 'end-previous': true }, id)).text)
  await run('ping', {}, id)
  for (const by of [second, third]) expect(verify(by)).toMatchObject({ type: 'webhook.ping' })
  expect(() => verify(secret)).toThrow('No matching signature found')
})

test('replay repeats dead messages, or ended ones that an option selects', async () => {
  const { id } = await add()
  expect((await run('deliveries', {}, id)).text).toBe('no delivery; delivered messages about changes are not kept\n')
  expect((await run('replay', {}, id)).text).toBe('nothing is dead\n')
  const endedAt = new Date('2026-11-20T00:00:00Z')
  await storeDead(id, 'settlement.settled.7', { endedAt })
  const line = 'settlement.settled.7  dead  attempts 10  ended 2026-11-20T00:00:00.000Z  status 500\n'
  expect((await run('deliveries', { state: 'dead' }, id)).text).toBe(line)
  expect((await run('deliveries', { state: 'waiting' }, id)).text).toContain('no waiting delivery')

  const after = await run('replay', { since: '2026-11-21T00:00:00Z' }, id)
  expect(after.text).toBe('no message that is kept was delivered or became dead since 2026-11-21T00:00:00.000Z\n')
  await run('pause', {}, id)
  const since = await run('replay', { since: '2026-11-20T01:00:00+02:00' }, id)
  expect(since.text).toBe(
    `sent again: 1 message\n${id} is paused: deliveries stay stopped until webhooks resume ${id}\n`,
  )
  await run('resume', {}, id)
  expect(await delivered(id)).toEqual(['settlement.settled.7'])
  expect((await run('replay', { message: 'settlement.settled.7' }, id)).text).toBe('sent again: 1 message\n')

  for (const message of ['settlement.settled.7', 'settlement.settled.8', '']) {
    expect(await run('replay', { message: message }, id)).toEqual({
      code: 1,
      text: `no delivered or dead message "${message}" of ${id} is kept: run webhooks deliveries ${id} for the ids and states`,
    })
  }
  const two = await run('replay', { since: '2026-11-20T00:00:00Z', message: 'settlement.settled.7' }, id)
  expect(two).toEqual({ code: 2, text: 'since: expected without --message' })
})

test('a URL that is registered already is accepted with a warning', async () => {
  const url = `${receiver.url}/twice`
  const { id, text } = await add(url)
  expect(text).not.toContain('warning')
  expect((await add(url)).text).toContain(
    `warning: the URL is also that of ${id}: it gets messages from each of them\n`,
  )
})

test('a closed output ends a command, and keeps the secrets as they are', async () => {
  const { id, secret } = await add()
  const kept = 'the output is closed: the secret was not shown, and nothing was changed'
  expect(await run('rotate', {}, id, true)).toEqual({ code: 1, text: kept })
  await run('ping', {}, id)
  expect(verify(secret)).toMatchObject({ type: 'webhook.ping' })
  expect((await run('rotate', {}, id)).code).toBe(0)

  const url = `${receiver.url}/closed`
  expect(await run('add', { url, types: 'event.changed' }, undefined, true)).toEqual({ code: 1, text: kept })
  expect((await run('list')).text).not.toContain(url)
})

test('the program prints what a command prints, and ends without a stack when its output is closed', async () => {
  const { id } = await add()
  const [listed, closed, rotated, refused] = await Promise.all([
    inProcess(['deliveries', id, '--state', 'dead']),
    inProcess(['list'], true),
    inProcess(['rotate', id], true),
    inProcess(['replay', id, '--since', '1']),
  ])
  expect(listed).toEqual({ code: 0, text: 'no dead delivery; delivered messages about changes are not kept\n' })
  expect(closed).toEqual({ code: 1, text: '' })
  expect(rotated).toEqual({
    code: 1,
    text: 'the output is closed: the secret was not shown, and nothing was changed\n',
  })
  expect(refused).toMatchObject({ code: 2, text: expect.stringMatching(/^since: expected a past ISO 8601 time.*\n$/) })
})

const changed = { types: 'event.changed' }

test.each<readonly [Readonly<Parameters<typeof run>>, string]>([
  [['add', { url: 'https://10.0.0.1/', ...changed }], 'url: 10.0.0.1 is not a public address'],
  [['add', { url: 'https://localhost/', ...changed }], 'url: localhost is not a public address'],
  [['add', { url: 'https://1.2.3.4:0/', ...changed }], 'url: expected a port from 1 to 65535'],
  [['remove', {}, 'we_\u001b[31m'], 'ID: expected text without control characters, got "we_\\u001b[31m"'],
  [['ping'], 'ID: name an endpoint'],
  ...(['ping', 'rotate', 'pause', 'resume', 'remove', 'replay'] as const).map(
    (name) => [[name, {}, 'we_none'], 'there is no endpoint we_none'] as const,
  ),
  [['deliveries', { state: 'x' }, 'we_none'], 'there is no endpoint we_none'],
])('webhooks %j fails and names what to change', async (args, expected) => {
  const { code, text } = await run(...args)
  expect(text).toContain(expected)
  expect(code).toBeGreaterThan(0)
})

test('the state of deliveries is one of three, and a hundred of them are listed', async () => {
  const { id } = await add()
  const refused = await run('deliveries', { state: 'x' }, id)
  expect(refused).toEqual({ code: 2, text: 'state: expected one of waiting, delivered, dead' })
  const rows = Array.from({ length: 101 }, (_, at) => `settlement.settled.${1_000 + at}`)
  await Promise.all(rows.map((row) => storeDead(id, row)))
  const lines = (await run('deliveries', {}, id)).text.trimEnd().split('\n')
  expect(lines.map((line) => line.split('  ')[0])).toEqual(rows.toReversed().slice(0, 100))
})

test('a ping that the receiver refuses fails with the reason', async () => {
  const refusing = await openReceiver((response) => void response.writeHead(500).end())
  const { id } = await add(refusing.url)
  expect(await run('ping', {}, id)).toEqual({ code: 1, text: `${refusing.url} did not accept the message: status 500` })
  await refusing.close()
})

test('after a rotation the previous secret signs for a day, stored with the newest key', async () => {
  const { id, secret } = await add()
  const began = Date.now()
  const { text } = await run('rotate', {}, id)
  const rotated = await database.run((handle) => readEndpoint(handle, id))
  const until = rotated?.previousUntil?.getTime() ?? 0
  expect([until >= began + 24 * HOUR_MS, until <= Date.now() + 24 * HOUR_MS]).toEqual([true, true])
  expect(vault.decrypt(id, rotated?.previousSecret ?? '')).toBe(secret)
  expect(vault.decrypt(id, rotated?.secret ?? '')).toBe(secretIn(text))
  expect(text).toContain(`until ${rotated?.previousUntil?.toISOString()}.\n`)
  // The time of the older secret is over: a rotation needs no option.
  await database.run((handle) => changeEndpoint(handle, id, { previousUntil: new Date(Date.now() - 1) }))
  expect((await run('rotate', {}, id)).code).toBe(0)
})
