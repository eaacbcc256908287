// cspell:ignoreRegExp /WITH named[\s\S]*tgisinternal/
import { Client } from 'pg'

/**
 * What the schema `public` of a database consists of, one line for each part, without the order of columns. The names of
 * NOT NULL constraints are left out: only PostgreSQL 18 has them, and nothing uses them.
 */
export const catalogueOf = async (url: string): Promise<string[]> => {
  const client = new Client(url)
  await client.connect()
  try {
    const { rows } = await client.query<{ line: string }>(`
      WITH named AS (SELECT * FROM pg_class WHERE relnamespace = 'public'::regnamespace)
      SELECT format('table %s %s', relname, reloptions) AS line FROM named WHERE relkind = 'r'
      UNION ALL SELECT format('column %s.%s %s null: %s identity: %s default: %s', relname, attname, format_type(atttypid, atttypmod),
          NOT attnotnull, attidentity, pg_get_expr(adbin, adrelid))
        FROM named JOIN pg_attribute ON attrelid = named.oid LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
        WHERE relkind = 'r' AND attnum > 0 AND NOT attisdropped
      UNION ALL SELECT format('constraint %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
      UNION ALL SELECT format('index %s', pg_get_indexdef(oid)) FROM named WHERE relkind = 'i'
      UNION ALL SELECT format('sequence %s of %s.%s, %s from %s by %s in %s to %s, cycle %s, cache %s', relname, refobjid::regclass,
          attname, seqtypid::regtype, seqstart, seqincrement, seqmin, seqmax, seqcycle, seqcache)
        FROM named JOIN pg_sequence ON seqrelid = named.oid JOIN pg_depend ON objid = named.oid AND deptype = 'i'
          JOIN pg_attribute ON attrelid = refobjid AND attnum = refobjsubid
      UNION ALL SELECT format('view %s', relname) FROM named WHERE relkind NOT IN ('r', 'i', 'S')
      UNION ALL SELECT format('function %s', oid::regprocedure) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
      UNION ALL SELECT format('trigger %s on %s', tgname, tgrelid::regclass) FROM pg_trigger WHERE NOT tgisinternal`)
    return rows.map(({ line }) => line).toSorted()
  } finally {
    await client.end()
  }
}
