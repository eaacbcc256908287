import { once } from 'node:events'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createStreamCapacity, createStreams } from '../../src/api/streams/shared.ts'
import type { FeedCursor } from '../../src/db/queries/feed.ts'

const STREAMS = 30
const PAGES = 3

test('streams that begin in the past read two pages at a time, and all arrive at the present', async () => {
  let [running, most, reads] = [0, 0, 0]
  const source = {
    all: null,
    passes: () => true,
    newest: () => 100,
    idOf: ({ seq }: FeedCursor) => String(seq),
    async after({ epoch, seq }: FeedCursor) {
      running += 1
      reads += 1
      most = Math.max(most, running)
      await sleep(2)
      running -= 1
      const next = { epoch, seq: seq + 1 }
      return { items: [{ seq: next.seq, text: `id: ${next.seq}\n\n` }], next, hasMore: next.seq < PAGES }
    },
  }
  const changes = { position: () => 100, onCommit: () => () => {} }
  const capacity = createStreamCapacity(STREAMS, STREAMS)
  const streams = createStreams({ changes, source, capacity, log: pino({ level: 'silent' }) })
  const server = createServer(({ url = '' }, response) =>
    streams.open(response, url, { after: { epoch: '', seq: 0 } }, null),
  ).listen(0)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const texts = await Promise.all(
    Array.from({ length: STREAMS }, async (_, nth) => {
      const [response] = await once(get({ port, path: `/${nth % 2}` }), 'response')
      let text = ''
      for await (const chunk of response) {
        text += chunk
        if (text.includes(`id: ${PAGES}\n`)) break
      }
      return text
    }),
  )
  expect(texts).toHaveLength(STREAMS)
  expect([most, reads]).toEqual([2, STREAMS * PAGES])
  streams.close()
  server.close()
})
