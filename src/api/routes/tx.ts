import type { FastifyPluginAsync } from 'fastify'
import { chainOf, type Sources } from '../../reads/read.ts'
import { BuiltTx, build } from '../../tx/build.ts'
import { builders } from '../../tx/builders.ts'
import { type Body, compile } from '../../tx/compile.ts'
import { Broadcast, BroadcastBody, relay } from '../../tx/relay.ts'
import { envelope, errorResponses } from '../envelope.ts'

const built = envelope(BuiltTx)

/** Mounts every row of the table of builders, and the relay. Only gas estimates and the relay need a node. */
export const txRoutes: FastifyPluginAsync<{ readonly sources: Pick<Sources, 'chains'> }> = async (app, { sources }) => {
  for (const builder of builders.map(compile)) {
    const schema = { body: builder.body, response: { 200: built, ...errorResponses } }
    app.post<{ Body: Body }>(builder.path, { schema }, async ({ body }) => ({
      data: await build(builder, chainOf(sources, body.chainId), body),
    }))
  }

  const schema = { body: BroadcastBody, response: { 200: envelope(Broadcast), ...errorResponses } }
  app.post<{ Body: BroadcastBody }>('/tx/broadcast', { schema }, async ({ body }) => ({
    data: await relay(chainOf(sources, body.chainId), body.signedTx),
  }))
}
