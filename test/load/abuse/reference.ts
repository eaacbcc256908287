import { once } from 'node:events'
import { createServer } from 'node:http'

/*
 * A server that does nothing but answer. Its response time is the machine's share of the product's response time. The
 * session forks it.
 */

const server = createServer((_, response) => void response.end('ok')).listen(0, '127.0.0.1')
await once(server, 'listening')
process.once('disconnect', () => process.exit(0))
process.send?.(server.address())
