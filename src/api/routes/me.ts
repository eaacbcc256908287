import type { FastifyPluginAsync } from 'fastify'
import { Me } from '../../identity/me.ts'
import type { Identity } from '../../identity/verify.ts'
import { unauthorized } from '../../lib/errors.ts'
import { envelope, type Operation, route } from '../operation.ts'

/** A bearer token by RFC 6750. The name of the scheme is case-insensitive. */
const BEARER = /^Bearer +([\w.~+/-]+=*)$/i

const bearer = (authorization: string | undefined): string => {
  if (authorization === undefined) throw unauthorized('a bearer token is required')
  const token = BEARER.exec(authorization)?.[1]
  if (token === undefined) throw unauthorized('the Authorization header holds no bearer token')
  return token
}

/** `/me`: the only route that authenticates its caller. */
export const meRoutes: FastifyPluginAsync<{ readonly identity: Identity }> = async (app, { identity }) => {
  const operation: Operation = {
    tag: 'Account',
    summary: 'Retrieve the authenticated user',
    description:
      'Returns the user of the bearer token, as the identity provider reports it. Results are cached for 60 seconds, including rejected tokens.',
    bearer: true,
    failures: ['upstream_error'],
  }
  app.get('/me', { ...route(operation, envelope(Me)), compress: false }, async ({ headers }, reply) => {
    // The response is for this user only, errors included.
    reply.headers({ 'cache-control': 'no-store', vary: 'authorization' })
    return { data: await identity.verify(bearer(headers.authorization)) }
  })
}
