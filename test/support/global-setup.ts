import { Client } from 'pg'
import type { TestProject } from 'vitest/node'
import { migrate } from '../../src/db/migrate.ts'
import { startTestPostgres } from './services.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The server of this run, as a superuser. */
    postgresUrl: string
    /** A migrated, empty database that test files clone. */
    templateDatabase: string
  }
}

/** One server and one migrated template a run; cloning it takes milliseconds where migrating takes many. */
export const setup = async (project: TestProject): Promise<() => Promise<void>> => {
  const postgres = await startTestPostgres()
  const template = `fx_template_${process.pid}`
  const execute = async (sql: string): Promise<void> => {
    const client = new Client(postgres.url)
    await client.connect()
    try {
      await client.query(sql)
    } finally {
      await client.end()
    }
  }
  const close = async (): Promise<void> => {
    await execute(`DROP DATABASE IF EXISTS ${template} WITH (FORCE)`)
    await postgres.close()
  }
  try {
    await execute(`CREATE DATABASE ${template}`)
    const url = new URL(postgres.url)
    url.pathname = template
    await migrate({ databaseUrl: url.href })
  } catch (error) {
    await close()
    throw error
  }
  project.provide('postgresUrl', postgres.url)
  project.provide('templateDatabase', template)
  return close
}
