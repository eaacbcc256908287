import { environments } from '../../config/environments.ts'
import { type ConfigOf, load } from '../../config/load.ts'
import type { Database } from '../../db/pool.ts'
import { newestDeliveries, replayDeliveries } from '../../db/webhooks/deliveries.ts'
import {
  changeEndpoint,
  type Endpoint,
  readEndpoint,
  readEndpoints,
  removeEndpoint,
} from '../../db/webhooks/endpoints.ts'
import { resumeEndpoint } from '../../db/webhooks/resume.ts'
import { invalidField, OperatorError } from '../../lib/errors.ts'
import { requirePublic } from '../../webhooks/address.ts'
import { secretsOf } from '../../webhooks/deliver.ts'
import { createPost } from '../../webhooks/post.ts'
import { pingOf, registerEndpoint, rotateSecret } from '../../webhooks/registration.ts'
import { createResolve } from '../../webhooks/resolve.ts'
import { createVault, type Vault } from '../../webhooks/secrets.ts'
import { sign } from '../../webhooks/signature.ts'
import { type Flags, pastTimeOf, plainText, textOf } from '../flags.ts'
import { withDatabase } from '../operator.ts'
import { counted, describe, print, printSecret, stopped, timeOf } from './output.ts'
import { subscriptionOf } from './subscription.ts'

/** Most deliveries that one command prints. */
const MOST_SHOWN = 100

type Tools = {
  readonly config: ConfigOf<typeof environments.webhooks>
  readonly database: Database
  readonly vault: Vault
}

const missing = (id: string): OperatorError =>
  new OperatorError(`there is no endpoint ${id}: run webhooks list for the ids`)

const idOf = (id: string | undefined): string => {
  if (id === undefined) throw invalidField('ID', 'name an endpoint: run webhooks list for the ids')
  return plainText('ID', id)
}

const endpointOf = async ({ database }: Tools, id: string | undefined): Promise<Endpoint> => {
  const endpoint = await database.run((handle) => readEndpoint(handle, idOf(id)))
  if (endpoint === undefined) throw missing(idOf(id))
  return endpoint
}

const change = async ({ database }: Tools, id: string | undefined, to: Partial<Endpoint>): Promise<void> => {
  if (!(await database.run((handle) => changeEndpoint(handle, idOf(id), to)))) throw missing(idOf(id))
}

const commands = {
  async add({ config, database, vault }: Tools, flags: Flags) {
    const subscription = subscriptionOf(flags, config)
    await requirePublic(new URL(subscription.url), createResolve())
    const same = (await database.run(readEndpoints)).filter(({ url }) => url === subscription.url)
    const { id, secret } = await registerEndpoint({ database, vault }, subscription, new Date())
    const lines = [`endpoint: ${id}`, `secret: ${secret}`, 'The secret is not shown again: give it to the receiver.']
    await printSecret(...lines).catch(async (fault: unknown) => {
      await database.run((handle) => removeEndpoint(handle, id))
      throw fault
    })
    if (same.length > 0)
      print(
        `warning: the URL is also that of ${same.map((it) => it.id).join(', ')}: it gets messages from each of them`,
      )
  },

  async list({ database }: Tools) {
    const all = await database.run(readEndpoints)
    print(...(all.length === 0 ? ['no endpoint: add one with webhooks add'] : all.map(describe)))
  },

  async ping(tools: Tools, _: Flags, id: string | undefined) {
    const endpoint = await endpointOf(tools, id)
    const at = new Date()
    const message = pingOf(endpoint.id, at)
    const headers = sign(message, secretsOf(tools.vault, endpoint, at), at)
    const post = createPost({ allowsLoopback: tools.config.WEBHOOKS_ALLOW_LOOPBACK })
    const posted = await post(endpoint.url, headers, message.body, new AbortController().signal)
    if (!posted.ok) throw new OperatorError(`${endpoint.url} did not accept the message: ${posted.failure}`)
    print(`${endpoint.url} accepted the message: status ${posted.status}`, ...stopped(endpoint))
  },

  async rotate(tools: Tools, flags: Flags, given: string | undefined) {
    const id = idOf(given)
    const rotated = await rotateSecret(tools, id, new Date(), {
      endsPrevious: flags['end-previous'] === true,
      refuse: (until) =>
        new OperatorError(
          `${id} has two secrets until ${until.toISOString()}, and the older one would end: rotate after that, or at once with --end-previous`,
        ),
      show: (secret, until) =>
        printSecret(
          `secret: ${secret}`,
          `Messages are signed with this secret and the one before it until ${until.toISOString()}.`,
        ),
    })
    if (rotated === undefined) throw missing(id)
  },

  async pause(tools: Tools, _: Flags, id: string | undefined) {
    await change(tools, id, { state: 'paused' })
    print('paused: it gets no messages until webhooks resume, and then those that it missed')
  },

  async resume({ database }: Tools, flags: Flags, id: string | undefined) {
    const leavesDead = flags['leave-dead'] === true
    const resumed = await resumeEndpoint(database, idOf(id), leavesDead, new Date())
    if (resumed === undefined) throw missing(idOf(id))
    const { waiting, revived } = resumed
    print(`active: deliveries continue now, with ${counted(waiting, 'waiting message')} (dead before: ${revived})`)
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
      [it.id, it.state, `attempts ${it.attempt}`, timeOf(it), it.failure ?? ''].join('  ').trimEnd(),
    )
    const none = `no ${state ? `${state} ` : ''}delivery; delivered messages about changes are not kept`
    print(...(lines.length === 0 ? [none] : lines))
  },

  async replay(tools: Tools, flags: Flags, id: string | undefined) {
    const endpoint = await endpointOf(tools, id)
    const message = textOf(flags, 'message')
    const since = pastTimeOf(flags, 'since', new Date())
    if (message !== undefined && since !== undefined) throw invalidField('since', 'expected without --message')
    const which = message !== undefined ? { id: message } : since !== undefined ? { since } : 'dead'
    const many = await tools.database.run((handle) => replayDeliveries(handle, endpoint.id, which, new Date()))
    if (many === 0 && message !== undefined)
      throw new OperatorError(
        `no delivered or dead message ${JSON.stringify(message)} of ${endpoint.id} is kept: run webhooks deliveries ${endpoint.id} for the ids and states`,
      )
    const nothing =
      since === undefined
        ? 'nothing is dead'
        : `no message that is kept was delivered or became dead since ${since.toISOString()}`
    print(many === 0 ? nothing : `sent again: ${counted(many, 'message')}`, ...stopped(endpoint))
  },
} satisfies Record<string, (tools: Tools, flags: Flags, id: string | undefined) => Promise<void>>

/** Runs a command of the operator on webhook endpoints. */
export const runWebhooks = async (name: keyof typeof commands, flags: Flags, id?: string): Promise<void> => {
  const config = load(environments.webhooks)
  const command: (tools: Tools, flags: Flags, id: string | undefined) => Promise<void> = commands[name]
  await withDatabase(config, 'webhooks', (database) =>
    command({ config, database, vault: createVault(config.WEBHOOKS_KEY) }, flags, id),
  )
}
