import { once } from 'node:events'
import { createServer } from 'node:http'

/*
 * A process that does nothing but answer: how long it takes is the machine's share of what the product takes. The session forks it.
 */

const server = createServer((_, response) => void response.end('ok')).listen(0, '127.0.0.1')
await once(server, 'listening')
process.once('disconnect', () => process.exit(0))
process.send?.(server.address())
