import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { createLimitStore } from '../../src/api/limits/store.ts'

const open = (redisUrl: string) => {
  const lines: string[] = []
  const log = pino({ level: 'info' }, { write: (line) => lines.push(line) })
  const store = createLimitStore({ redisUrl, prefix: 'system', log })
  onTestFinished(store.close)
  return { store, lines }
}

test('a Redis that is out of reach is an outage, which is logged, and commands fail at once', async () => {
  const { store, lines } = open('redis://127.0.0.1:9')
  expect([store.prefix, store.outages.isDown()]).toEqual(['system', false])
  await expect(store.redis.incr('a')).rejects.toThrow(/enableOfflineQueue/)
  await expect.poll(() => store.outages.isDown()).toBe(true)
  expect(lines.join('')).toContain('this process counts requests on its own: the shared Redis does not count')
})

test('commands have little time, and are sent once; a closed store has no connection', async () => {
  const sockets: Socket[] = []
  const silent = createServer((socket) => void sockets.push(socket.resume()))
  onTestFinished(() => void silent.close())
  await once(silent.listen(0, '127.0.0.1'), 'listening')
  const { port } = Object(silent.address())
  const { store } = open(`redis://127.0.0.1:${port}`)
  expect(store.redis.options).toMatchObject({
    ...{ commandTimeout: 200, socketTimeout: 1_000, maxRetriesPerRequest: 0 },
    ...{ autoResendUnfulfilledCommands: false, enableOfflineQueue: false },
  })
  const { reconnectOnError } = store.redis.options
  expect(reconnectOnError?.(new Error('READONLY You cannot write against a read only replica.'))).toBe(true)
  expect(reconnectOnError?.(new Error('OOM command not allowed'))).toBe(false)
  await expect.poll(() => sockets.length).toBe(1)
  // A connection that Redis leaves silent is closed too, and opened again.
  const ended = once(store.redis, 'end')
  store.close()
  await ended
})
