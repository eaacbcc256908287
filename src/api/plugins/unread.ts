import fp from 'fastify-plugin'
import { bytesOf } from '../bytes.ts'
import { addressOf } from '../client.ts'
import type { Refused } from '../limits/limits.ts'
import { isLarge, noRoom, type Unread } from '../unread.ts'

/** Counts bodies, and rejects those without room with a 503. */
export const unreadBodies = fp<{ readonly unread: Unread; readonly refused: Refused }>(
  async (app, { unread, refused }) => {
    app.addHook('onSend', (request, reply, payload, done) => {
      const isBody = typeof payload === 'string' || Buffer.isBuffer(payload)
      if (!isBody || !isLarge(payload) || request.method === 'HEAD') return done(null, payload)
      const body = typeof payload === 'string' ? bytesOf(payload) : payload
      if (unread.add(reply.raw, body.length, addressOf(request))) return done(null, body)
      refused.unread += 1
      done(noRoom())
    })
  },
)
