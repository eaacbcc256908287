import { createHash } from 'node:crypto'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import type { Row } from '../protocol/fields/flat-fields.ts'
import type { Column } from './columns.ts'
import { createFile, onDisk } from './disk.ts'

/** Rows of a row group, which are in memory together. */
const GROUP_ROWS = 10_000

/** What was written. */
export type Written = { readonly rows: number; readonly bytes: number; readonly sha256: string }

/** A writer that passes its bytes on after each row group. */
const passing = (pass: (bytes: Uint8Array) => Promise<void>) => {
  const writer = new ByteWriter()
  const flush = async (): Promise<void> => {
    await pass(writer.getBytes())
    writer.index = 0
  }
  return Object.assign(writer, { flush, finish: flush })
}

/**
 * Writes rows to a Parquet file. The bytes follow from the columns and the rows. At most `groupRows` rows and their bytes
 * are in memory. Throws an OperatorError when the file cannot be written.
 */
export const writeParquet = async (
  path: string,
  columns: readonly Column[],
  rows: AsyncIterable<Row>,
  groupRows = GROUP_ROWS,
): Promise<Written> => {
  const file = await onDisk(() => createFile(path))
  try {
    const hash = createHash('sha256')
    const writer = passing(async (bytes) => {
      hash.update(bytes)
      await onDisk(() => file.writeFile(bytes))
    })
    const schema = [{ name: 'root', num_children: columns.length }, ...columns.map(({ element }) => element)]
    const parquet = new ParquetWriter({ writer, schema, createdBy: 'fx-protection-api' })
    let many = 0
    let group: unknown[][] = columns.map(() => [])
    const writeGroup = async (): Promise<void> => {
      const columnData = columns.map(({ element: { name } }, at) => ({ name, data: group[at] ?? [] }))
      await parquet.write({ columnData, rowGroupSize: groupRows })
      group = columns.map(() => [])
    }
    for await (const row of rows) {
      for (const [at, { cell }] of columns.entries()) group[at]?.push(cell(row))
      many += 1
      if (many % groupRows === 0) await writeGroup()
    }
    if (many % groupRows !== 0) await writeGroup()
    await parquet.finish()
    await onDisk(() => file.sync())
    return { rows: many, bytes: writer.offset, sha256: hash.digest('hex') }
  } finally {
    await file.close()
  }
}
