import { once } from 'node:events'
import { createConnection, createServer, type Socket } from 'node:net'

/**
 * A TCP proxy to a service. It can be cut, or moved to another service; open connections stay with the old one.
 */
export const startLine = async (url: string) => {
  let target = new URL(url)
  const ends = new Set<Socket>()
  let cut = false
  const server = createServer((near) => {
    if (cut) return near.destroy()
    const far = createConnection(Number(target.port), target.hostname)
    for (const [end, other] of [
      [near, far],
      [far, near],
    ] as const) {
      ends.add(end)
      end.on('error', () => {})
      end.on('close', () => {
        ends.delete(end)
        other.destroy()
      })
      end.pipe(other)
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the line has no port')
  const line = new URL(url)
  line.host = `127.0.0.1:${address.port}`
  return {
    url: line.href,
    cut(): void {
      cut = true
      for (const end of ends) end.destroy()
    },
    mend(): void {
      cut = false
    },
    leadTo(other: string): void {
      target = new URL(other)
    },
    async close(): Promise<void> {
      for (const end of ends) end.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
