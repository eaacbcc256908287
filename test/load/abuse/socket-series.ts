import { connect } from 'node:net'
import type { Results } from './send.ts'

/** How long a connection is held at most, in milliseconds. */
const HELD_MS = 20_000

const PIPELINED = 'GET /v1/chains HTTP/1.1\r\nhost: a\r\n\r\n'

/** The first bytes of connections that violate the protocol. The first connection stays idle. */
const starts: readonly string[] = [
  '',
  'GET /v1/chains HTTP/1.1\r\nhost: a\r\nx-half: ',
  'POST /v1/tx/broadcast HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{',
  'GET / HTTP/9.9\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  `GET /${'a'.repeat(60_000)} HTTP/1.1\r\n\r\n`,
  `GET / HTTP/1.1\r\nhost: a\r\n${'x: y\r\n'.repeat(10_000)}`,
  `GET /v1/chains HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  'POST /v1/pricing/quote HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nFFFFFFFFFFFF\r\n{',
  PIPELINED.repeat(200),
]

/**
 * Opens a connection, writes one of the starts, reads the answers or none, and keeps it open until the API closes it or
 * 20 s have passed.
 */
export const holdSocket = (url: URL, turn: number, results: Results): Promise<void> =>
  new Promise((resolve) => {
    const socket = connect(Number(url.port), url.hostname)
    const timer = setTimeout(() => socket.destroy(), HELD_MS)
    let outcome = 'held'
    socket.on('error', () => {})
    socket.once('end', () => {
      outcome = 'ended'
    })
    if (Math.floor(turn / starts.length) % 2 === 0) socket.resume()
    socket.write(starts[turn % starts.length] ?? '')
    socket.once('close', () => {
      clearTimeout(timer)
      results.add('sockets', outcome)
      resolve()
    })
  })
