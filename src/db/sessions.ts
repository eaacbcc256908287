import type { ClientBase } from 'pg'

/** How long a connection is silent before its client checks whether the server is there, in milliseconds. */
const KEEP_ALIVE_AFTER_MS = 10_000

const sessionOptions = [
  'client_connection_check_interval=500',
  'tcp_keepalives_idle=10',
  'tcp_keepalives_interval=5',
  'tcp_keepalives_count=3',
  'tcp_user_timeout=25000',
]
  .map((setting) => `-c ${setting}`)
  .join(' ')

/**
 * Settings of a connection of which either side may vanish without closing it. The client finds a lost server within
 * seconds. The server ends the session of a lost client with its locks: within half a second while it executes a
 * statement, within half a minute while the session is idle or its messages are not confirmed.
 */
export const noticesLoss = {
  keepAlive: true,
  keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
  options: sessionOptions,
} as const

type Connection = Pick<ClientBase, 'query'>

/** A pooler may give the session of the first connection to another client before the second one gets it. */
const ATTEMPTS = 10

/**
 * Whether a transaction of the second connection runs in the session that the first one had, which is idle. The pooler
 * gives a transaction the session that became free last.
 */
export const haveOneSession = async (idle: Connection, busy: Connection): Promise<boolean> => {
  const sessionOf = async (client: Connection): Promise<number | undefined> =>
    (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const session = await sessionOf(idle)
    await busy.query('BEGIN')
    const isShared = (await sessionOf(busy)) === session
    await busy.query('COMMIT')
    if (isShared) return true
  }
  return false
}
