import fastJsonStringify from 'fast-json-stringify'
import type { FastifyPluginAsync, RouteShorthandOptions } from 'fastify'
import { createConcurrencyLimit } from '../../lib/concurrency-limit.ts'
import { unavailable } from '../../lib/errors.ts'
import { createTurns } from '../../lib/turns.ts'
import { type Chains, chainOf } from '../../reads/read.ts'
import type { Senders } from '../../reads/transactions/replacement.ts'
import { answerSchema, BuiltTx, build } from '../../tx/build.ts'
import type { Body } from '../../tx/compile.ts'
import { compiledBuilders } from '../../tx/compiled.ts'
import { Broadcast, BroadcastBody, relay, type SignedBy } from '../../tx/relay.ts'
import { clientOf } from '../client.ts'
import { BODY_LIMIT } from '../limits/limits.ts'
import { envelope, type Operation, route } from '../operation.ts'
import { serializerCompiler } from '../schema.ts'

const built = envelope(BuiltTx)

/** Each builder with the serializer of its answers. */
const mounted = compiledBuilders.map((builder) => ({
  builder,
  serialize: fastJsonStringify({ type: 'object', properties: { data: answerSchema(builder) } }),
}))

/** Largest body in bytes: the longest transaction, and one that is 16 KiB longer, whose error names its field. */
const BROADCAST_LIMIT = 294_912

/** Most broadcasts that wait for their turn. Each takes about a millisecond. */
const MAX_WAITING = 512

/** Mounts every builder of the table, and the relay. Only simulations and the relay need a node. */
export const txRoutes: FastifyPluginAsync<{
  readonly chains: Chains
  readonly senders: Senders
  /** Most broadcasts that wait for their turn. */
  readonly maxWaiting?: number
}> = async (app, { chains, senders, maxWaiting = MAX_WAITING }) => {
  const operation: Operation = {
    tag: 'Transactions',
    summary: 'Broadcast a signed transaction',
    description:
      'Sends a signed transaction to a node. A transaction that the node already knows, pending or mined, is a success, so a request can be repeated. When the node rejects the transaction, the response is a 502 with its reason. A rejection that passes by waiting, such as a full pool, is a 503 with `Retry-After`. A call of the protocol or of a payment token is simulated before, for at most 300 ms: `warning` reports why it would revert, and with `rejectIfReverts` it is not sent (409). The simulation is left out while earlier transactions of the sender are not mined.',
    failures: ['upstream_error', 'conflict'],
  }
  const options = { ...route(operation, envelope(Broadcast), { body: BroadcastBody }), bodyLimit: BROADCAST_LIMIT }
  // To hash a long transaction takes longer than a read takes, so reads continue between two of them.
  const turn = createTurns({ restMs: 1 })
  const refuse = () => unavailable('too many broadcasts at once: retry after 1 s')
  const inTurn = createConcurrencyLimit({ atOnce: 1, waiting: maxWaiting, refuse })
  app.post<{ Body: BroadcastBody }>('/tx/broadcast', options, async (request) => {
    const { body } = request
    const caller = clientOf(request)
    await inTurn(turn, caller.disconnected, caller.address)
    const onSent = ({ hash, ...sender }: SignedBy) => senders.keep(body.chainId, hash, sender)
    return { data: await relay(chainOf(chains, body.chainId), { ...body, onSent, caller }) }
  })

  for (const { builder, serialize } of mounted) {
    const operation: Operation = {
      id: `build${builder.function.charAt(0).toUpperCase()}${builder.function.slice(1)}`,
      tag: 'Transactions',
      summary: builder.summary,
      description: `Encodes a call of \`${builder.signature}\`. With \`from\`, \`simulation\` reports whether the call would succeed now and, if not, why and what to do. \`estimatedGas\` is null unless the request has \`from\` and the simulated call succeeds.`,
    }
    const options: RouteShorthandOptions = {
      ...route(operation, built, { body: builder.body }),
      bodyLimit: builder.bodyLimit ?? BODY_LIMIT,
      serializerCompiler: (part) => (part.httpStatus === '200' ? serialize : serializerCompiler(part as never)),
    }
    app.post<{ Body: Body }>(builder.path, options, (request) => {
      const { body } = request
      const data = build(builder, chainOf(chains, body.chainId), body, () => clientOf(request))
      return data instanceof Promise ? data.then((it) => ({ data: it })) : { data }
    })
  }
}
