import { readFileSync } from 'node:fs'
import { packaged } from '../../lib/root.ts'

/** A request of the story in `test/examples` and its answer: JSON, or the text of a stream. */
export type Recorded = {
  readonly path?: Readonly<Record<string, string | number>>
  readonly query?: Readonly<Record<string, string | number | boolean>>
  readonly body?: Readonly<Record<string, unknown>>
  readonly response?: unknown
  readonly stream?: string
}

/** The recorded examples by operation id. `npm run examples` writes the file. */
export const readRecorded = (): Readonly<Record<string, Recorded>> =>
  JSON.parse(readFileSync(packaged('docs/examples.json'), 'utf8'))
