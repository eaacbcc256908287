import { WebSocket } from 'undici'
import { z } from 'zod'

/** Longest a process may take to collect its garbage, in milliseconds. */
const PATIENCE_MS = 20_000

/** Ids of the requests to the debugger. */
const COLLECTED = 1
const MEASURED = 2

const Evaluated = z.object({ result: z.object({ value: z.number() }) })
const Answer = z.object({ id: z.int(), result: z.unknown() })

/** What is on the heap without compiled code: for hours the engine compiles what is used often once more. */
const WITHOUT_CODE = `(() => {
  const { code_and_metadata_size, bytecode_and_metadata_size } = process.getBuiltinModule('v8').getHeapCodeStatistics()
  return process.memoryUsage().heapUsed - code_and_metadata_size - bytecode_and_metadata_size
})()`

/**
 * Measures the used heap without compiled code, in bytes, of a process that runs with `--inspect`, after a garbage
 * collection. `url` is the URL that its debugger prints. Throws when the debugger does not answer.
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
    const send = (id: number, method: string, params = {}): void => socket.send(JSON.stringify({ id, method, params }))
    socket.addEventListener('open', () => send(COLLECTED, 'HeapProfiler.collectGarbage'))
    socket.addEventListener('message', ({ data }) => {
      const { data: answer } = Answer.safeParse(JSON.parse(String(data)))
      // The collection is a task of its own: what is measured before its answer includes garbage.
      if (answer?.id === COLLECTED)
        send(MEASURED, 'Runtime.evaluate', { expression: WITHOUT_CODE, returnByValue: true })
      if (answer?.id === MEASURED) end(() => resolve(Evaluated.parse(answer.result).result.value))
    })
  })
