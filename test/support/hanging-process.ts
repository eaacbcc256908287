import { execFileSync } from 'node:child_process'
import { mkdtempSync, open, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLogger } from '../../src/lib/log.ts'
import { serve } from '../../src/lib/serve.ts'

/**
 * A process that runs like those of the product, with short timeouts, and hangs or fails in a given way. It prints
 * `started`, `stopping` when it begins to stop, and `closed` when it has closed everything.
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
// A process that must end by itself has its time in the drain, which the limit of the stop includes.
const drainMs = way === 'never' ? 20_000 : 200
const stopWithinMs = way === 'never' ? 100 : way === 'in a closer' ? 20_000 : 500
const times = { drainMs, stopWithinMs, killAfterMs: 500, hungAfterMs: 1_000 }
await serve({ log, ...times }, async (closers) => {
  closers.add(
    'work',
    setInterval(() => {}, 1_000),
    (timer) => {
      clearInterval(timer)
      process.stdout.write('closed\n')
    },
  )
  closers.add('hang', null, () => {
    process.stdout.write('stopping\n')
    if (way === 'while it stops') setTimeout(hang, 10)
    return way === 'in a closer' ? new Promise(() => {}) : new Promise((resolve) => setTimeout(resolve, 300))
  })
  if (way === 'at its start') throw new Error('no start')
  if (way === 'in its exit') blockThread()
  if (way === 'before any signal') setTimeout(hang, 500)
  process.stdout.write('started\n')
})
