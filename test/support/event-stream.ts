/** The body of a stream of server-sent events, which a test writes. */
export const createEventStream = () => {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  let isCancelled = false
  const body = new ReadableStream<Uint8Array>({
    start: (it) => {
      controller = it
    },
    cancel: () => {
      isCancelled = true
    },
  })
  return {
    body,
    /** A response with this body. */
    response: (type = 'text/event-stream; charset=utf-8') => new Response(body, { headers: { 'content-type': type } }),
    write: (chunk: string | Uint8Array): void =>
      controller?.enqueue(typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk),
    end: (): void => controller?.close(),
    fail: (error: Error): void => controller?.error(error),
    isCancelled: (): boolean => isCancelled,
  }
}
