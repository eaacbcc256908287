import fastJsonStringify from 'fast-json-stringify'
import type { FastifyPluginAsync, RouteShorthandOptions } from 'fastify'
import { keccak256 } from 'viem'
import { chainOf, type Sources } from '../../reads/read.ts'
import { answerSchema, BuiltTx, build, encode } from '../../tx/build.ts'
import { builders } from '../../tx/builders.ts'
import { type Body, compile } from '../../tx/compile.ts'
import { Broadcast, BroadcastBody, relay } from '../../tx/relay.ts'
import { envelope, errorResponses } from '../envelope.ts'
import { BODY_LIMIT } from '../limits.ts'
import type { Operation } from '../operation.ts'
import { serializerCompiler } from '../schema.ts'

const built = envelope(BuiltTx)

/** Bytes: networks refuse transactions above 128 KB, which take twice as much as hex. */
const BROADCAST_LIMIT = 262_144

/** The protocol's address in the documentation's examples. */
const DIAMOND = '0x610178dA211FEF7D417bC0e6FeD39F05609AD788'

/** Mounts every row of the table of builders, and the relay. Only gas estimates and the relay need a node. */
export const txRoutes: FastifyPluginAsync<{ readonly sources: Pick<Sources, 'chains'> }> = async (app, { sources }) => {
  for (const builder of builders.map(compile)) {
    const schema = { body: builder.body, response: { 200: built, ...errorResponses } }
    const operation: Operation = {
      id: `build${builder.function.charAt(0).toUpperCase()}${builder.function.slice(1)}`,
      tag: 'Transactions',
      summary: builder.summary,
      description: `Encodes \`${builder.signature}\`. Gas is estimated when \`from\` is there and the simulated call succeeds.`,
      example: (body) => encode(builder, DIAMOND, builder.body.parse(body)),
    }
    const { bodyLimit = BODY_LIMIT } = builder
    const serialize = fastJsonStringify({ type: 'object', properties: { data: answerSchema(builder) } })
    const options: RouteShorthandOptions = {
      schema,
      bodyLimit,
      config: { operation },
      serializerCompiler: (route) => (route.httpStatus === '200' ? serialize : serializerCompiler(route as never)),
    }
    app.post<{ Body: Body }>(builder.path, options, ({ body }) => {
      const data = build(builder, chainOf(sources, body.chainId), body)
      return data instanceof Promise ? data.then((it) => ({ data: it })) : { data }
    })
  }

  const schema = { body: BroadcastBody, response: { 200: envelope(Broadcast), ...errorResponses } }
  const operation: Operation = {
    tag: 'Transactions',
    summary: 'Hand a signed transaction to a node',
    description:
      'A transaction that the node already knows is a success. A refusal of the node is 502 with its reason.',
    failures: ['upstream_error', 'service_unavailable'],
    example: (body) => ({ txHash: keccak256(BroadcastBody.parse(body).signedTx) }),
  }
  const options = { schema, bodyLimit: BROADCAST_LIMIT, config: { operation } }
  app.post<{ Body: BroadcastBody }>('/tx/broadcast', options, async ({ body }) => ({
    data: await relay(chainOf(sources, body.chainId), body.signedTx),
  }))
}
