import { randomBytes } from 'node:crypto'
import { getAddress, isAddress } from 'viem'
import { environments } from '../config/environments.ts'
import { type ConfigOf, load } from '../config/load.ts'
import { secretsOf as secretsOfConfig } from '../config/parts.ts'
import type { Database } from '../db/pool.ts'
import { webhookTypes } from '../db/schema-webhooks.ts'
import { requireVersion } from '../db/versions.ts'
import { newestDeliveries, replayDeliveries } from '../db/webhooks/deliveries.ts'
import {
  addEndpoint,
  changeEndpoint,
  type Endpoint,
  readEndpoint,
  readEndpoints,
  removeEndpoint,
} from '../db/webhooks/endpoints.ts'
import { queues } from '../jobs/queues.ts'
import { invalidField, OperatorError } from '../lib/errors.ts'
import { createClosers } from '../lib/lifecycle.ts'
import { createLogger } from '../lib/log.ts'
import { parseEndpointUrl } from '../webhooks/address.ts'
import { secretsOf } from '../webhooks/deliver.ts'
import { bodyOf } from '../webhooks/fill.ts'
import { createPost } from '../webhooks/post.ts'
import { createVault, newSecret, type Vault } from '../webhooks/secrets.ts'
import { sign } from '../webhooks/signature.ts'
import { checked, type Flags, textOf, wholeNumber } from './flags.ts'
import { openDatabase, WORK_WITHIN_MS } from './parts.ts'

/** Milliseconds that a command waits for a connection. */
const CONNECT_WITHIN_MS = 10_000

/** How long the previous secret signs as well after a rotation, in milliseconds. */
const BOTH_SECRETS_MS = 24 * 60 * 60 * 1_000

/** Most deliveries that one command prints. */
const MOST_SHOWN = 100

type Tools = {
  readonly config: ConfigOf<typeof environments.webhooks>
  readonly database: Database
  readonly vault: Vault
}

const print = (...lines: readonly string[]): void => void process.stdout.write(`${lines.join('\n')}\n`)

const missing = (id: string): OperatorError =>
  new OperatorError(`there is no endpoint ${id}: run webhooks list for the ids`)

const idOf = (id: string | undefined): string => {
  if (id === undefined) throw invalidField('ID', 'name an endpoint: run webhooks list for the ids')
  return id
}

const endpointOf = async ({ database }: Tools, id: string | undefined): Promise<Endpoint> => {
  const endpoint = await database.run((handle) => readEndpoint(handle, idOf(id)))
  if (endpoint === undefined) throw missing(idOf(id))
  return endpoint
}

const change = async ({ database }: Tools, id: string | undefined, to: Partial<Endpoint>): Promise<void> => {
  if (!(await database.run((handle) => changeEndpoint(handle, idOf(id), to)))) throw missing(idOf(id))
}

const filtersOf = ({ chainIds, wallets, eventIds }: Endpoint): string =>
  [
    chainIds && `chains ${chainIds.join(',')}`,
    wallets && `${wallets.length} wallets`,
    eventIds && `${eventIds.length} events`,
  ]
    .filter(Boolean)
    .join(', ') || 'everything'

const describe = (it: Endpoint): string => {
  const failing = it.failingSince ? `; fails since ${it.failingSince.toISOString()} (${it.failure})` : ''
  return `${it.id}  ${it.state}  ${it.url}\n    ${it.types.join(' ')}; ${filtersOf(it)}; last success ${it.succeededAt?.toISOString() ?? 'never'}${failing}`
}

const commands = {
  async add({ config, database, vault }: Tools, flags: Flags) {
    const url = parseEndpointUrl(textOf(flags, 'url') ?? '', config.WEBHOOKS_ALLOW_LOOPBACK).href
    const known = `one of ${webhookTypes.join(', ')}`
    const types = checked(flags, 'types', known, (text) => webhookTypes.find((type) => type === text))
    if (types === null) throw invalidField('types', `expected ${known}`)
    const chainIds = checked(flags, 'chains', `one of ${config.CHAINS.join(', ')}`, (text) =>
      config.CHAINS.find((id) => String(id) === text),
    )
    const wallets = checked(flags, 'wallets', 'an address', (text) =>
      isAddress(text, { strict: false }) ? getAddress(text).toLowerCase() : undefined,
    )
    const eventIds = checked(flags, 'events', 'an event id', wholeNumber)
    if (eventIds !== null && chainIds?.length !== 1)
      throw invalidField('chains', 'expected one chain: events are of one chain')
    const id = `we_${randomBytes(6).toString('hex')}`
    const secret = newSecret()
    const given = { id, url, types: [...new Set(types)], chainIds, wallets, eventIds, createdAt: new Date() }
    await addEndpoint(database, { ...given, secret: vault.encrypt(id, secret) }, queues.deliver.concurrency)
    print(`endpoint: ${id}`, `secret: ${secret}`, 'The secret is not shown again: give it to the receiver.')
  },

  async list({ database }: Tools) {
    const all = await database.run(readEndpoints)
    print(...(all.length === 0 ? ['no endpoint: add one with webhooks add'] : all.map(describe)))
  },

  async ping(tools: Tools, _: Flags, id: string | undefined) {
    const endpoint = await endpointOf(tools, id)
    const at = new Date()
    const body = bodyOf({ type: 'webhook.ping', cursor: '', data: { endpoint: endpoint.id } }, at)
    const headers = sign({ id: `webhook.ping.${at.getTime()}`, body }, secretsOf(tools.vault, endpoint, at), at)
    const post = createPost({ allowsLoopback: tools.config.WEBHOOKS_ALLOW_LOOPBACK })
    const posted = await post(endpoint.url, headers, body, new AbortController().signal)
    if (!posted.ok) throw new OperatorError(`${endpoint.url} did not accept the message: ${posted.failure}`)
    print(`${endpoint.url} accepted the message: status ${posted.status}`)
  },

  async rotate(tools: Tools, _: Flags, id: string | undefined) {
    const endpoint = await endpointOf(tools, id)
    const secret = newSecret()
    const until = new Date(Date.now() + BOTH_SECRETS_MS)
    // Encrypted again, so that a rotation also replaces the key that it was stored with.
    const previousSecret = tools.vault.encrypt(endpoint.id, tools.vault.decrypt(endpoint.id, endpoint.secret))
    const rotated = { secret: tools.vault.encrypt(endpoint.id, secret), previousSecret, previousUntil: until }
    await change(tools, id, rotated)
    print(`secret: ${secret}`, `Messages are signed with both secrets until ${until.toISOString()}.`)
  },

  async pause(tools: Tools, _: Flags, id: string | undefined) {
    await change(tools, id, { state: 'paused' })
    print('paused: it gets no messages until webhooks resume, and then those that it missed')
  },

  async resume(tools: Tools, _: Flags, id: string | undefined) {
    await change(tools, id, { state: 'active', failingSince: null, retryAt: null, failure: null })
    print('active: deliveries continue; webhooks replay sends those that are dead')
  },

  async remove({ database }: Tools, _: Flags, id: string | undefined) {
    if (!(await database.run((handle) => removeEndpoint(handle, idOf(id))))) throw missing(idOf(id))
    print('removed, with its deliveries')
  },

  async deliveries(tools: Tools, flags: Flags, id: string | undefined) {
    const endpoint = await endpointOf(tools, id)
    const states = ['waiting', 'delivered', 'dead'] as const
    const asked = textOf(flags, 'state')
    const state = states.find((it) => it === asked)
    if (asked !== undefined && state === undefined) throw invalidField('state', `expected one of ${states.join(', ')}`)
    const rows = await tools.database.run((handle) => newestDeliveries(handle, endpoint.id, state, MOST_SHOWN))
    const lines = rows.map((it) =>
      [it.id, it.state, `attempts ${it.attempt}`, (it.endedAt ?? it.nextAt).toISOString(), it.failure ?? '']
        .join('  ')
        .trimEnd(),
    )
    print(...(lines.length === 0 ? ['no delivery'] : lines))
  },

  async replay(tools: Tools, flags: Flags, id: string | undefined) {
    const endpoint = await endpointOf(tools, id)
    const message = textOf(flags, 'message')
    const since = textOf(flags, 'since')
    if (since !== undefined && Number.isNaN(Date.parse(since)))
      throw invalidField('since', 'expected a time such as 2026-11-24T08:00:00Z')
    const which = message !== undefined ? { id: message } : since !== undefined ? { since: new Date(since) } : 'dead'
    const many = await tools.database.run((handle) => replayDeliveries(handle, endpoint.id, which, new Date()))
    print(`${many} deliveries are sent again`)
  },
} satisfies Record<string, (tools: Tools, flags: Flags, id: string | undefined) => Promise<void>>

/** Runs a command of the operator on webhook endpoints. */
export const runWebhooks = async (name: keyof typeof commands, flags: Flags, id?: string): Promise<void> => {
  const config = load(environments.webhooks)
  const log = createLogger({ level: config.LOG_LEVEL, process: 'webhooks', secrets: secretsOfConfig(config) })
  const closers = createClosers()
  try {
    const times = { statementTimeoutMs: WORK_WITHIN_MS, connectTimeoutMs: CONNECT_WITHIN_MS }
    const database = openDatabase({ url: config.DATABASE_URL, maxConnections: 1, ...times, log }, closers)
    await requireVersion(database)
    const command: (tools: Tools, flags: Flags, id: string | undefined) => Promise<void> = commands[name]
    await command({ config, database, vault: createVault(config.WEBHOOKS_KEY) }, flags, id)
  } finally {
    await closers.close()
  }
}
