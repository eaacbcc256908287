import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { cachingServer } from '../../src/api/response-cache/server.ts'
import { eventually } from '../support/process.ts'

const MANY = 50

test('pipelined requests are handled one after the other, so that a client has one under way a connection', async () => {
  const underWay: ServerResponse[] = []
  const server = cachingServer({
    // A cache that knows nothing.
    cache: { decide: () => null } as never,
    access: () => {},
    tracing: undefined,
  })((_, response) => void underWay.push(response))
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  let answers = ''
  socket.on('data', (chunk: Buffer) => {
    answers += chunk.toString()
  })
  socket.write(Array.from({ length: MANY }, (_, at) => `GET /${at} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''))
  for (let at = 0; at < MANY; at += 1) {
    await eventually('the next request is handled', () => underWay.length > at)
    if (at === 0) await sleep(50)
    expect(underWay.length).toBe(at + 1)
    underWay[at]?.end(`<${underWay[at]?.req.url}>`)
  }
  const expected = Array.from({ length: MANY }, (_, at) => `</${at}>`)
  await eventually('all are answered', () => answers.endsWith(`${expected.at(-1)}`))
  expect(answers.match(/<[^>]*>/g)).toEqual(expected)
})
