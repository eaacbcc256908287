import { connect, type Socket } from 'node:net'

/** The status of an answer whose client stops reading after its first part. */
const firstPart = (socket: Socket): Promise<number> =>
  new Promise((resolve, reject) => {
    socket.once('error', reject).once('data', (part: Buffer) => {
      socket.pause()
      resolve(Number(part.toString('latin1').slice('HTTP/1.1 '.length).split(' ', 1)[0]))
    })
  })

/** Posts each body on a connection of its own, and reads no more than the first part of each answer until `close`. */
export const openStalled = async (port: number, path: string, bodies: readonly string[]) => {
  const sockets: Socket[] = []
  const statuses: number[] = []
  for (const body of bodies) {
    const socket = connect(port, '127.0.0.1')
    sockets.push(socket)
    const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`
    socket.write(`${head}\r\n\r\n${body}`)
    statuses.push(await firstPart(socket))
    socket.on('error', () => {})
  }
  return {
    statuses,
    close(): void {
      for (const socket of sockets) socket.destroy()
    },
  }
}
