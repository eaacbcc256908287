import { execFile } from 'node:child_process'
import { createServer, type RequestListener } from 'node:http'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../src/sandbox/parts/ports.ts'

/** The health check of the image, as Docker runs it. */

const run = promisify(execFile)

const exitOf = (url: string): Promise<unknown> =>
  run('bash', ['deploy/health.sh'], { env: { PATH: process.env.PATH, HEALTH_URL: url } }).then(
    () => 0,
    ({ code }) => code,
  )

/** The URL of a server on this machine that answers with the listener. */
const serve = async (listener: RequestListener): Promise<string> => {
  const port = await freePort()
  const server = createServer(listener)
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return `http://127.0.0.1:${port}`
}

test('the health check passes for an answer of 200 to its path, and fails for any other', async () => {
  const origin = await serve(({ url, headers }, answer) => {
    answer.writeHead(url === '/livez' && headers.host === '127.0.0.1' ? 200 : 503).end()
  })
  expect(await exitOf(`${origin}/livez`)).toBe(0)
  expect(await exitOf(`${origin}/readyz`)).not.toBe(0)
})

test('the health check fails where no process listens, and without a URL', async () => {
  expect(await exitOf(`http://127.0.0.1:${await freePort()}/livez`)).not.toBe(0)
  expect(await exitOf('')).not.toBe(0)
})

test('the health check fails for a connection that ends without an answer', async () => {
  const origin = await serve((request) => request.socket.destroy())
  expect(await exitOf(`${origin}/livez`)).not.toBe(0)
})
