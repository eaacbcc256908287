import { WebSocket } from 'undici'
import { z } from 'zod'

/** Longest a process may take to collect its garbage, in milliseconds. */
const PATIENCE_MS = 20_000

const Answer = z.object({ id: z.int(), result: z.object({ usedSize: z.number().optional() }).optional() })

/**
 * Measures the used heap, in bytes, of a process that runs with `--inspect`, after a garbage collection. `url` is the
 * URL that its debugger prints. Throws when the debugger does not answer.
 */
export const heapAfterCollection = (url: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(url)
    const end = (settle: () => void): void => {
      clearTimeout(timer)
      socket.close()
      settle()
    }
    const fail = (): void => end(() => reject(new Error(`the debugger at ${url} does not answer`)))
    const timer = setTimeout(fail, PATIENCE_MS)
    socket.addEventListener('error', fail)
    socket.addEventListener('open', () => {
      for (const [id, method] of ['HeapProfiler.collectGarbage', 'Runtime.getHeapUsage'].entries())
        socket.send(JSON.stringify({ id, method }))
    })
    socket.addEventListener('message', ({ data }) => {
      const { data: answer } = Answer.safeParse(JSON.parse(String(data)))
      if (answer?.id === 1) end(() => resolve(answer.result?.usedSize ?? Number.NaN))
    })
  })
