import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'

/**
 * A commit of the index: Unix milliseconds by the database's clock, which is this machine's, and the process that
 * wrote.
 */
export type Commit = { readonly at: number; readonly who: string; readonly block: number }

/**
 * Has the database record every move of a chain's cursor and the process that made it, so that writes of a process that
 * should be dead are found.
 */
export const recordCommits = async (databaseUrl: string, chainId: number) => {
  const client = new Client({ connectionString: databaseUrl, application_name: 'commits' })
  client.on('error', () => {})
  await client.connect()
  await client.query(`
    CREATE TABLE rig_commits (at timestamptz NOT NULL, who text NOT NULL, block bigint NOT NULL);
    CREATE FUNCTION rig_note() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      -- Any worker may note in the row how far the ledger is summed.
      IF TG_OP = 'INSERT' OR OLD.block_hash IS DISTINCT FROM NEW.block_hash THEN
        INSERT INTO rig_commits VALUES (clock_timestamp(), current_setting('application_name'), NEW.block_number);
      END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER rig_note AFTER INSERT OR UPDATE ON cursors FOR EACH ROW WHEN (NEW.chain_id = ${chainId})
      EXECUTE FUNCTION rig_note();
  `)
  const since = async (time: number, who?: string): Promise<Commit[]> => {
    const found = await client.query(
      `SELECT extract(epoch FROM at)::float8 * 1000 AS at, who, block::int AS block FROM rig_commits
       WHERE at > to_timestamp($1::float8 / 1000) AND ($2::text IS NULL OR who = $2) ORDER BY at`,
      [time, who ?? null],
    )
    return found.rows
  }
  return {
    /** Commits after a time in Unix milliseconds, oldest first, of one process or of all. */
    since,
    /** The first commit. Throws when there is none within `withinMs`. */
    async first(time: number, who: string | undefined, withinMs: number): Promise<Commit> {
      for (const deadline = Date.now() + withinMs; Date.now() < deadline; await sleep(20)) {
        const [commit] = await since(time, who)
        if (commit !== undefined) return commit
      }
      throw new Error(`no commit${who === undefined ? '' : ` of ${who}`} within ${withinMs / 1000} s`)
    },
    close: () => client.end(),
  }
}
