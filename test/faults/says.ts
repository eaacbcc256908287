import { Client } from 'pg'

/** What an index told of itself: Unix milliseconds, the block up to which it says to be proved, and what it says keeps it from that. */
export type Say = { readonly at: number; readonly proven: number | null; readonly trouble: string | null }

/** Lets the database itself note everything that a chain's index publishes of itself. */
export const recordSays = async (databaseUrl: string, chainId: number) => {
  const client = new Client({ connectionString: databaseUrl, application_name: 'says' })
  client.on('error', () => {})
  await client.connect()
  await client.query(`
    CREATE TABLE rig_says (at timestamptz NOT NULL, proven bigint, trouble text);
    CREATE FUNCTION rig_say() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO rig_says VALUES (clock_timestamp(), NEW.proven_number, NEW.trouble);
      RETURN NULL;
    END $$;
    CREATE TRIGGER rig_say AFTER INSERT OR UPDATE ON looks FOR EACH ROW WHEN (NEW.chain_id = ${chainId})
      EXECUTE FUNCTION rig_say();
  `)
  return {
    /** All of it since a time in Unix milliseconds, oldest first. */
    async since(time: number): Promise<Say[]> {
      const { rows } = await client.query(
        `SELECT extract(epoch FROM at)::float8 * 1000 AS at, proven::int AS proven, trouble FROM rig_says
         WHERE at > to_timestamp($1::float8 / 1000) ORDER BY at`,
        [time],
      )
      return rows
    },
    close: () => client.end(),
  }
}

/**
 * When the index, of which an answer at `answered` left out a row of `block`, said that something is wrong, or that it is proved past the
 * block; null when it had said the latter before. Infinite when it said neither.
 */
export const toldAt = (says: readonly Say[], block: number, answered: number): number | null => {
  const isPast = ({ proven }: Say): boolean => proven !== null && proven >= block
  if (says.some((say) => say.at <= answered && isPast(say))) return null
  return says.find((say) => say.at > answered && (say.trouble !== null || isPast(say)))?.at ?? Number.POSITIVE_INFINITY
}
