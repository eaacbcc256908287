import { sql } from 'drizzle-orm'
import type { Handle } from '../pool.ts'
import { CARRIED } from '../refusals.ts'

/** The tables that APIs and commands change while no worker runs, in the order in which they are locked. */
const tables = ['api_keys', 'webhook_endpoints', 'deliveries']

/**
 * Lets changes of keys, endpoints and deliveries wait for the end of the transaction, and refuses them after its commit:
 * no other database would get them. It has to be the first statement of a transaction whose snapshot has to contain what
 * was committed before.
 */
export const refuseChanges = async (handle: Handle): Promise<void> => {
  await handle.execute(sql.raw(`LOCK TABLE ${tables.join()} IN SHARE ROW EXCLUSIVE MODE`))
  await handle.execute(
    sql.raw(`CREATE OR REPLACE FUNCTION refuse_carried() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'this database was carried over to another one' USING ERRCODE = '${CARRIED}';
    END $$`),
  )
  for (const table of tables)
    await handle.execute(
      sql.raw(`CREATE OR REPLACE TRIGGER refuse_carried BEFORE INSERT OR UPDATE OR DELETE ON ${table}
        EXECUTE FUNCTION refuse_carried()`),
    )
}
