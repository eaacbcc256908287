import { execFileSync } from 'node:child_process'
import { mkdtempSync, open, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLogger } from '../../src/lib/log.ts'
import { serve } from '../../src/lib/serve.ts'

/**
 * A process that runs like those of the product, with short timeouts, and hangs in a given way. It prints `started`,
 * and `stopping` when it begins to stop.
 */
const way = process.argv[2]

const hang = (): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)

/** A system call without an end in a thread of Node's pool, which an exit waits for. */
const blockThread = (): void => {
  const folder = mkdtempSync(join(tmpdir(), 'fx-hang-'))
  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  open(pipe, 'r', () => {})
  // By then it waits for a writer, which needs no name.
  setTimeout(() => rmSync(folder, { recursive: true }), 100)
}

const log = createLogger({ level: 'silent', process: 'test' })
// A process that must end by itself has time to do so on a busy machine.
const stopWithinMs = way === 'never' ? 10_000 : 500
const times = { drainMs: 200, stopWithinMs, killAfterMs: 500, hungAfterMs: 2_000 }
await serve({ log, ...times }, async (closers) => {
  closers.add(
    'work',
    setInterval(() => {}, 1_000),
    clearInterval,
  )
  closers.add('hang', null, () => {
    process.stdout.write('stopping\n')
    if (way === 'while it stops') setTimeout(hang, 10)
    return new Promise((resolve) => setTimeout(resolve, 100))
  })
  if (way === 'in its exit') blockThread()
  if (way === 'before any signal') setTimeout(hang, 500)
  process.stdout.write('started\n')
})
