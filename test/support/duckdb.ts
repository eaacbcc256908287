import { DuckDBInstance } from '@duckdb/node-api'

type Cells = Record<string, string | null>

/** A DuckDB in memory. Times are in UTC. */
export const openDuckDb = async () => {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  await connection.run("SET TimeZone = 'UTC'")
  return {
    /** The rows of a statement; each value as DuckDB writes it as text. */
    async rows(sql: string): Promise<Cells[]> {
      const reader = await connection.runAndReadAll(`SELECT COLUMNS(*)::VARCHAR FROM (${sql})`)
      return reader.getRowObjectsJS() as Cells[]
    },
    /** The columns of a statement and their types. */
    async types(sql: string): Promise<Record<string, string | null>> {
      const reader = await connection.runAndReadAll(`DESCRIBE ${sql}`)
      const columns = reader.getRowObjectsJS() as Cells[]
      return Object.fromEntries(columns.map(({ column_name, column_type }) => [column_name, column_type ?? null]))
    },
    close(): void {
      connection.closeSync()
      instance.closeSync()
    },
  }
}
