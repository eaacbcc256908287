import { Client } from 'pg'
import { noticesLoss } from './sessions.ts'

/**
 * Connects for work that may take long: without the time-outs of statements and of idle transactions that its role may
 * have.
 */
export const openPatient = async (url: string): Promise<Client> => {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    ...noticesLoss,
  })
  // A connection that breaks fails its query; without a listener the event would end the process.
  client.on('error', () => {})
  await client.connect()
  await client.query('SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0')
  return client
}
