import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { chainOf } from '../../src/reads/read.ts'
import { openApp } from '../support/app.ts'
import { indexAll } from '../support/index-all.ts'
import { eventually } from '../support/process.ts'
import { createRefusingDatabase, refusalNames, refusals } from '../support/refusing-database.ts'
import { byForm, seed } from '../support/repetitions.ts'
import { startWorld } from '../support/world.ts'

let world: Awaited<ReturnType<typeof startWorld>>
let store: Awaited<ReturnType<typeof createRefusingDatabase>>

const start = (lines: string[] = []) => {
  const nodes = [{ url: world.anvil.url, deployment: world.deployment }]
  return openApp({ nodes, databaseUrl: store.url, log: pino({ level: 'info' }, { write: (line) => lines.push(line) }) })
}

beforeAll(async () => {
  ;[world, store] = await Promise.all([startWorld(), createRefusingDatabase()])
  const { sources, database, close } = await start()
  await indexAll({ chain: chainOf(sources.chains, 8453), database })
  await close()
})
afterAll(async () => {
  await Promise.all([store?.close(), world?.close()])
})

/** A read of the chain, and a list. */
const entity = '/v1/hedge/events/8453/1'
const list = '/v1/hedge/events?chainId=8453'
const lists = [list, '/v1/hedge/settlements?chainId=8453', '/readyz']

/** By default the refusal that operators cause most often, and another one. */
const others = refusalNames.filter((name) => name !== 'another password')
const tried = byForm(
  ['another password' as const, ...others.filter((_, at) => at === seed % others.length)],
  refusalNames,
)

test.each(tried)(
  'while PostgreSQL refuses (%s) entities are read from the chain, lists are a 503, and /status has the remedy until it recovers',
  async (name) => {
    const { code, advice } = refusals[name]
    const lines: string[] = []
    const { app, close } = await start(lines)
    const ask = async (url: string) => {
      const { statusCode: status, headers, body } = await app.inject(url)
      return { status, retryAfter: headers['retry-after'], body }
    }
    try {
      expect((await ask(list)).status).toBe(200)
      await store.refuse(name)
      await eventually('lists are refused', async () => (await ask(list)).status !== 200)
      expect(await ask(entity)).toMatchObject({ status: 200 })
      const refused = { status: 503, retryAfter: '1' }
      for (const url of lists) expect(await ask(url), url).toMatchObject(refused)
      expect(await ask('/status')).toMatchObject({ status: 200, body: expect.stringContaining(advice) })
      await eventually('the reason is logged', async () => {
        await ask(list)
        return lines.join('').includes(`"fault":"${code} `)
      })
      const text = lines.join('')
      expect(text).toContain(advice)
      expect(text).not.toMatch(/Failed query|internal_error/)
      expect(text).not.toContain(store.password)
    } finally {
      await store.accept(name)
      await eventually('lists are served again', async () => (await ask(list)).status === 200)
      expect((await ask('/status')).body).not.toContain('The database is out of reach')
      await close()
    }
  },
)
