import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errorText } from '../../lib/errors.ts'
import type { Logger } from '../../lib/observe/log.ts'
import { MAX_BYTES, parseSeries } from './formats.ts'
import type { Feed } from './market.ts'
import type { Source } from './series.ts'

type Kept = { readonly stamp: string; readonly source: Source | undefined }

/**
 * The CSV files in the operator's drop-in folder, each a separate source. Formats: `date,close` in a file named after
 * its pair, `pair,date,close`, ECB reference rates or FRED. A file is read again when it changes. An unreadable file is
 * ignored with a warning.
 */
export const folderFeed = ({ folder, log }: { readonly folder: string; readonly log: Logger }): Feed => {
  let kept = new Map<string, Kept>()
  let sources: readonly Source[] = []

  const readOne = async (file: string): Promise<Kept> => {
    const path = join(folder, file)
    const before = kept.get(file)
    let stamp = 'out of reach'
    try {
      const status = await stat(path)
      const { mtimeMs, size } = status
      stamp = `${mtimeMs} ${size}`
      if (before?.stamp === stamp) return before
      if (!status.isFile()) throw new Error(`${file} is no regular file`)
      if (size > MAX_BYTES) throw new Error(`${file}: ${size} bytes, more than the limit of ${MAX_BYTES}`)
      return {
        stamp,
        source: { name: file, synthetic: false, series: parseSeries(await readFile(path, 'utf8'), file) },
      }
    } catch (fault) {
      if (before?.stamp === stamp) return before
      log.warn({ file, fault: errorText(fault) }, 'a file of rates cannot be read and is ignored')
      return { stamp, source: undefined }
    }
  }

  return {
    name: 'drop-in folder',
    async read() {
      const files = (await readdir(folder)).filter((file) => file.endsWith('.csv')).sort()
      const read = new Map<string, Kept>()
      for (const file of files) read.set(file, await readOne(file))
      const same = read.size === kept.size && [...read].every(([file, entry]) => kept.get(file) === entry)
      kept = read
      if (!same) sources = [...read.values()].flatMap(({ source }) => (source === undefined ? [] : [source]))
      return sources
    },
  }
}
