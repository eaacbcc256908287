import { serve } from '../../src/compose/serve.ts'
import { createLogger } from '../../src/lib/observe/log.ts'

/**
 * A process that runs like those of the product, with short limits, and stops or fails in a given way. It prints
 * `started`, `stopping` when it begins to stop, and `closed` when it has closed everything.
 */
const way = process.argv[2]

const log = createLogger({ level: 'silent', process: 'test' })
const stopWithinMs = way === 'too slowly' ? 300 : 20_000
await serve({ log, drainMs: 100, stopWithinMs }, async (closers) => {
  closers.add(
    'work',
    setInterval(() => {}, 1_000),
    (timer) => {
      clearInterval(timer)
      process.stdout.write('closed\n')
    },
  )
  closers.add('rest', null, () => {
    process.stdout.write('stopping\n')
    return way === 'in order' || way === 'at its start' ? Promise.resolve() : new Promise(() => {})
  })
  if (way === 'at its start') throw new Error('no start')
  process.stdout.write('started\n')
})
