import { ConnectionError } from './errors.ts'

/** A message of a stream of server-sent events. A comment is a message without fields. */
export type Message = { readonly id?: string; readonly event?: string; readonly data?: string; readonly retry?: string }

const parse = (block: string): Message =>
  Object.fromEntries(
    block
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith(':'))
      .map((line) => /^([^:]*):? ?(.*)$/.exec(line)?.slice(1) ?? []),
  )

/** The next bytes; undefined at the end. Throws ConnectionError when the connection breaks or is silent for `idleMs`. */
const readChunk = async (
  reader: ReadableStreamDefaultReader<Uint8Array>,
  idleMs: number,
): Promise<Uint8Array | undefined> => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const silence = new Promise<never>((_, reject) => {
    const late = new ConnectionError(`nothing arrived for ${idleMs} ms`, { code: 'timeout' })
    timer = setTimeout(() => reject(late), idleMs)
  })
  try {
    return (await Promise.race([reader.read(), silence])).value
  } catch (cause) {
    if (cause instanceof ConnectionError) throw cause
    throw new ConnectionError('the stream broke', { code: 'network_error', cause })
  } finally {
    clearTimeout(timer)
  }
}

/** Reads server-sent events. The service sends one `data` line per message and ends lines with a line feed. */
export async function* readMessages(
  body: ReadableStream<Uint8Array>,
  idleMs: () => number,
): AsyncGenerator<Message, void, undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (let chunk = await readChunk(reader, idleMs()); chunk; chunk = await readChunk(reader, idleMs())) {
      const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) yield parse(block)
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}
