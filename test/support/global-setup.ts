import { Client } from 'pg'
import type { TestProject } from 'vitest/node'
import { migrate } from '../../src/db/migrate.ts'
import { startTestPostgres } from './services.ts'
import { share } from './shared-setup.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The PostgreSQL server of this run, as a superuser. */
    postgresUrl: string
    /** A migrated, empty database that test files clone. */
    templateDatabase: string
  }
}

/** One server and one migrated template per run: cloning the template takes milliseconds, migrating takes longer. */
const start = async () => {
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
  return { value: { url: postgres.url, template }, close }
}

export const setup = async (project: TestProject): Promise<() => Promise<void>> => {
  const { value, release } = await share('PostgreSQL', start)
  project.provide('postgresUrl', value.url)
  project.provide('templateDatabase', value.template)
  return release
}
