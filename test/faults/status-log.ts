import { Client } from 'pg'

/**
 * A status that an index published: Unix milliseconds, the block up to which it claims to be proved, and its problem if
 * it has one.
 */
export type Status = { readonly at: number; readonly proven: number | null; readonly problem: string | null }

/** Has the database record every status that a chain's index publishes. */
export const recordStatus = async (databaseUrl: string, chainId: number) => {
  const client = new Client({ connectionString: databaseUrl, application_name: 'status log' })
  client.on('error', () => {})
  await client.connect()
  await client.query(`
    CREATE TABLE rig_status (at timestamptz NOT NULL, proven bigint, problem text);
    CREATE FUNCTION rig_record_status() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO rig_status VALUES (clock_timestamp(), NEW.proven_number, NEW.problem);
      RETURN NULL;
    END $$;
    CREATE TRIGGER rig_record_status AFTER INSERT OR UPDATE ON heartbeats FOR EACH ROW WHEN (NEW.chain_id = ${chainId})
      EXECUTE FUNCTION rig_record_status();
  `)
  return {
    /** Every status since a time in Unix milliseconds, oldest first. */
    async since(time: number): Promise<Status[]> {
      const { rows } = await client.query(
        `SELECT extract(epoch FROM at)::float8 * 1000 AS at, proven::int AS proven, problem FROM rig_status
         WHERE at > to_timestamp($1::float8 / 1000) ORDER BY at`,
        [time],
      )
      return rows
    },
    close: () => client.end(),
  }
}

/**
 * When the index reported a problem, or claimed to be proved past the block, after an answer at `answered` left out a
 * row of `block`. Null when it had claimed that before the answer. Infinite when it reported neither.
 */
export const reportedAt = (log: readonly Status[], block: number, answered: number): number | null => {
  const isPast = ({ proven }: Status): boolean => proven !== null && proven >= block
  if (log.some((status) => status.at <= answered && isPast(status))) return null
  return (
    log.find((status) => status.at > answered && (status.problem !== null || isPast(status)))?.at ??
    Number.POSITIVE_INFINITY
  )
}
