import type { FastifyRequest, preParsingHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import { ServiceError } from '../../lib/errors.ts'

/** Longest part of the header that the error repeats. */
const MAX_SHOWN = 40

/** Whether the header names a coding that changes the body. */
const isEncoded = (header: string): boolean =>
  header.split(',').some((coding) => !['', 'identity'].includes(coding.trim().toLowerCase()))

const refusal = ({ headers }: FastifyRequest): ServiceError | undefined => {
  const header = headers['content-encoding']
  if (header === undefined || !isEncoded(header)) return undefined
  const got = header.slice(0, MAX_SHOWN)
  const message = `expected no encoding of the body, got ${got}: send it uncompressed, without this header`
  const details = [{ path: 'Content-Encoding', message }]
  return new ServiceError('validation_error', `Content-Encoding: ${message}`, { details, status: 415 })
}

/**
 * Rejects encoded bodies, since a small one may expand to gigabytes. The 415 names what is accepted (RFC 9110, section
 * 12.5.3).
 */
export const contentEncodings = fp(async (app) => {
  const refuse: preParsingHookHandler = (request, reply, payload, done) => {
    const refused = refusal(request)
    if (refused === undefined) return done(null, payload)
    reply.header('accept-encoding', 'identity')
    done(refused)
  }
  app.addHook('onRoute', (route) => {
    if (route.schema?.body !== undefined) route.preParsing = [refuse, ...[route.preParsing ?? []].flat()]
  })
})
