import type { FastifyReply, FastifyRequest } from 'fastify'
import { notFound } from '../lib/errors.ts'
import { prefersHtml } from './accept.ts'
import { helpLink } from './help.ts'
import { relativeUrl } from './link.ts'
import { shellOf } from './pages/assets/assets.ts'
import { PAGE_POLICY } from './pages/html.ts'
import { notFoundPage } from './pages/not-found.ts'

/**
 * Answers a request for a page that does not exist: for a browser with a page that has the sentence `hint`. Throws
 * `not_found` with the message for any other client, and for a path with more folders than any page of the service has.
 */
export const sendNotFound = async (
  request: FastifyRequest,
  reply: FastifyReply,
  message: string,
  explorer: boolean,
  hint = 'The address may be mistyped. Search the documentation, or go to one of these pages.',
): Promise<FastifyReply> => {
  const fault = notFound(message)
  const root = relativeUrl(request.url, '')
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (!isRead || root === undefined || !prefersHtml(request.headers.accept)) throw fault
  const link = helpLink(request.url, 'not_found')
  reply.headers({ 'cache-control': 'no-store', 'content-security-policy': PAGE_POLICY, ...(link && { link }) })
  const page = notFoundPage(await shellOf(root, explorer), hint)
  return reply.code(404).type('text/html; charset=utf-8').send(page)
}
