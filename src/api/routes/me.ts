import type { FastifyPluginAsync } from 'fastify'
import { Me } from '../../identity/me.ts'
import type { Identity } from '../../identity/verify.ts'
import { unauthorized } from '../../lib/errors.ts'
import { envelope, errorResponses } from '../envelope.ts'
import type { Operation } from '../operation.ts'

/** RFC 6750's form of a bearer token; the scheme's name may have any case. */
const BEARER = /^Bearer +([\w.~+/-]+=*)$/i

const bearer = (authorization: string | undefined): string => {
  if (authorization === undefined) throw unauthorized('a bearer token is required')
  const token = BEARER.exec(authorization)?.[1]
  if (token === undefined) throw unauthorized('the Authorization header holds no bearer token')
  return token
}

/** `/me`: the one route that wants to know who asks. */
export const meRoutes: FastifyPluginAsync<{ readonly identity: Identity }> = async (app, { identity }) => {
  const schema = { response: { 200: envelope(Me), ...errorResponses } }
  const operation: Operation = {
    tag: 'Account',
    summary: 'The user a bearer token stands for',
    description: 'Asked of the identity provider; its answer, a refusal too, is kept for 60 s.',
    bearer: true,
    failures: ['upstream_error', 'service_unavailable'],
  }
  app.get('/me', { schema, config: { operation }, compress: false }, async ({ headers }, reply) => {
    // One user's answer is nobody else's, refusals included.
    reply.headers({ 'cache-control': 'no-store', vary: 'authorization' })
    return { data: await identity.verify(bearer(headers.authorization)) }
  })
}
