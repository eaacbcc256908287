/**
 * A receiver of webhooks for the settlements of the sandbox.
 *
 *     npm start                              # in one terminal; it prints the path of its environment file
 *     npm run webhooks -- ENVIRONMENT_FILE   # in another
 *
 * Registers an endpoint on this machine, verifies what arrives, prints it, and removes the endpoint at the end.
 */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { argv, execPath } from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { verifyWebhook, WebhookError, type WebhookMessage } from 'fx-protection-client'

const TYPES = 'settlement.settled,settlement.reverted,settlement.finalized'

/** The longest body that is read, in bytes. */
const MAX_BODY = 65_536

const cli = fileURLToPath(new URL('../dist/cli.js', import.meta.url))
const exec = promisify(execFile)

const bodyOf = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > MAX_BODY) throw new RangeError('the body is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Receives settlements until it is closed: `onMessage` gets each verified message once. */
export const receiveSettlements = async (envFile: string, onMessage: (message: WebhookMessage) => void) => {
  const secrets: string[] = []
  const seen = new Set<string>()
  const server = createServer(async (request, response) => {
    try {
      const [secret = ''] = secrets
      const message = await verifyWebhook({ body: await bodyOf(request), headers: request.headers, secrets: [secret] })
      response.writeHead(204).end()
      if (!seen.has(message.id)) onMessage(message)
      seen.add(message.id)
    } catch (error) {
      response.writeHead(400).end(error instanceof WebhookError ? error.message : 'not a message')
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const webhooks = async (...args: readonly string[]): Promise<string> =>
    (await exec(execPath, [cli, 'webhooks', ...args, '--env-file', envFile])).stdout
  const printed = await webhooks('add', '--url', `http://127.0.0.1:${port}/hooks`, '--types', TYPES)
  const [, id = '', secret = ''] = /^endpoint: (\S+)\nsecret: (\S+)/.exec(printed) ?? []
  secrets.push(secret)
  return {
    id,
    /** Sends a test message. */
    ping: () => webhooks('ping', id),
    async close(): Promise<void> {
      await webhooks('remove', id)
      server.close()
      server.closeAllConnections()
    },
  }
}

const [, script = '', envFile] = argv
if (import.meta.url === pathToFileURL(script).href) {
  if (envFile === undefined) throw new Error('name the environment file that npm start printed')
  const receiver = await receiveSettlements(envFile, ({ id, type, data }) => console.log(id, type, data))
  console.log(await receiver.ping())
  process.once('SIGINT', () => void receiver.close())
}
