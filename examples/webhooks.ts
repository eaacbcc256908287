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
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { argv, execPath, exit } from 'node:process'
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

/** Whether a message is newer than the last one about the same settlement. Others, such as a ping, are always new. */
const createOrder = () => {
  const last = new Map<string, number>()
  return ({ data }: WebhookMessage): boolean => {
    if (!('seq' in data)) return true
    const event = `${data.chainId} ${data.eventId}`
    if (data.seq <= (last.get(event) ?? 0)) return false
    last.set(event, data.seq)
    return true
  }
}

/** Receives settlements until it is closed: `onMessage` gets each verified message once, and no older one after it. */
export const receiveSettlements = async (envFile: string, onMessage: (message: WebhookMessage) => void) => {
  const secrets: string[] = []
  const isNew = createOrder()
  const server = createServer(async (request, response) => {
    try {
      const [secret = ''] = secrets
      const message = await verifyWebhook({ body: await bodyOf(request), headers: request.headers, secrets: [secret] })
      response.writeHead(204).end()
      if (isNew(message)) onMessage(message)
    } catch (error) {
      const isRefused = error instanceof WebhookError
      response.writeHead(isRefused ? error.status : 400).end(isRefused ? error.message : 'not a message')
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

const ADVICE = 'the environment file that npm start printed'

/** The argument, if it is the only one and a file that can be read. Throws what to do. */
const envFileOf = async ([envFile, ...more]: readonly string[]): Promise<string> => {
  if (envFile === undefined || more.length > 0) throw new Error(`pass one argument: ${ADVICE}`)
  const text = await readFile(envFile, 'utf8').catch(({ code }) => {
    throw new Error(`cannot read ${envFile} (${code}): pass ${ADVICE}`)
  })
  if (!/^WEBHOOKS_KEY=/m.test(text)) throw new Error(`${envFile} has no WEBHOOKS_KEY: pass ${ADVICE}`)
  return envFile
}

const main = async (): Promise<void> => {
  const envFile = await envFileOf(argv.slice(2))
  const receiver = await receiveSettlements(envFile, ({ id, type, data }) => console.log(id, type, data))
  process.once('SIGINT', async () => {
    await receiver.close()
    console.log(`removed the endpoint ${receiver.id}`)
  })
  console.log((await receiver.ping()).trim())
  console.log('waiting for settlements, which come every few minutes; Ctrl-C removes the endpoint and ends')
}

const [, script = ''] = argv
if (import.meta.url === pathToFileURL(script).href) {
  await main().catch((error: Error & { readonly stderr?: string }) => {
    // What a command printed names the cause.
    console.error(error.stderr?.trim() || error.message)
    exit(1)
  })
}
