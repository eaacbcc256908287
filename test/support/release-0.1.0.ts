import { Client } from 'pg'
import { migrate } from '../../src/db/migrate.ts'

/**
 * The schema of release 0.1.0 as a folder of migrations. Its one file has what the 18 migrations of the release did, and
 * is recorded as the last of them.
 */
export const release = 'test/support/release-0.1.0'

/** The names of 0.1.0 where they differ from those of this version. */
const formerNames = {
  heartbeats: 'looks',
  reported_at: 'looked_at',
  problem: 'trouble',
  refresh_queue: 'unobserved',
  sequence: 'noted',
  last_request: 'last_note',
}

/** The tables of the schema `filled` and those of `public` by the names of 0.1.0, with the columns that both have. */
const pairs = `SELECT own.table_name AS own, former.table_name AS former,
    string_agg(quote_ident(own.column_name), ', ') AS columns, string_agg(quote_ident(former.column_name), ', ') AS "formerColumns"
  FROM information_schema.columns AS own JOIN information_schema.columns AS former
    ON former.table_schema = 'public' AND former.table_name = coalesce($1::jsonb ->> own.table_name, own.table_name)
      AND former.column_name = coalesce($1::jsonb ->> own.column_name, own.column_name)
  WHERE own.table_schema = 'filled' GROUP BY own.table_name, former.table_name`

/** Turns a database of this version into one of release 0.1.0 with the same rows, and with `text` in each list row. */
export const turnIntoRelease = async (databaseUrl: string, text: string): Promise<void> => {
  const client = new Client(databaseUrl)
  await client.connect()
  try {
    await client.query('ALTER SCHEMA public RENAME TO filled; CREATE SCHEMA public; DROP SCHEMA drizzle CASCADE')
    await migrate({ databaseUrl, folder: release })
    const { rows } = await client.query<Record<'own' | 'former' | 'columns' | 'formerColumns', string>>(pairs, [
      JSON.stringify(formerNames),
    ])
    for (const { own, former, columns, formerColumns } of rows) {
      const hasText = /^(event|deposit|position)_observations$/.test(own)
      const [names, values] = hasText ? [', row_text, render_key', `, '${text}', 1`] : ['', '']
      await client.query(`INSERT INTO public.${former} (${formerColumns}${names}) OVERRIDING SYSTEM VALUE
        SELECT ${columns}${values} FROM filled.${own}`)
    }
    await client.query('DROP SCHEMA filled CASCADE')
  } finally {
    await client.end()
  }
}
