/** A message of a stream of server-sent events. A comment is a message without fields. */
export type Message = { readonly id?: string; readonly event?: string; readonly data?: string }

const parse = (block: string): Message =>
  Object.fromEntries(
    block
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith(':'))
      .map((line) => /^([^:]*):? ?(.*)$/.exec(line)?.slice(1) ?? []),
  )

/**
 * Reads server-sent events. The service sends one `data` line per message and ends lines with a line feed. Throws when
 * nothing arrives for `idleMs`, not even the comments that keep a connection open.
 */
export async function* readMessages(
  body: ReadableStream<Uint8Array>,
  idleMs: () => number,
): AsyncGenerator<Message, void, undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  let timer: ReturnType<typeof setTimeout> | undefined
  const silence = (): Promise<never> =>
    new Promise((_, reject) => {
      const ms = idleMs()
      timer = setTimeout(() => reject(new Error(`nothing arrived for ${ms} ms`)), ms)
    })
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), silence()])
      clearTimeout(timer)
      if (done) return
      const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) yield parse(block)
    }
  } finally {
    clearTimeout(timer)
    await reader.cancel().catch(() => {})
  }
}
