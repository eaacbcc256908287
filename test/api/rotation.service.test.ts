import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { saveHeartbeat } from '../../src/db/index/work/heartbeat.ts'
import { migrate } from '../../src/db/migrate.ts'
import { chainOf } from '../../src/reads/read.ts'
import { openApp } from '../support/app.ts'
import { indexAll } from '../support/index-all.ts'
import { createRefusingDatabase } from '../support/refusing-database.ts'
import { byForm } from '../support/repetitions.ts'
import { startWorld } from '../support/world.ts'

type Api = Awaited<ReturnType<typeof openApp>>

/** In the long form, longer than a pool keeps an idle connection, in milliseconds. */
const IDLE_MS = byForm(0, 11_000)

let world: Awaited<ReturnType<typeof startWorld>>
let store: Awaited<ReturnType<typeof createRefusingDatabase>>
beforeAll(async () => {
  ;[world, store] = await Promise.all([startWorld(), createRefusingDatabase()])
})
afterAll(async () => {
  await Promise.all([store?.close(), world?.close()])
})

/** The SQL of docs/operations/configure.md, for the role of the test instead of `fx`. */
const documented = (): string[] => {
  const [, section = ''] =
    /### Rotating the database password\n([\s\S]*)/.exec(readFileSync('docs/operations/configure.md', 'utf8')) ?? []
  return [...section.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, sql = '']) =>
    sql.replace(/\bfx_2\b/g, `${store.role}_2`).replace(/\bfx\b/g, store.role),
  )
}

const start = (databaseUrl: string): Promise<Api> =>
  openApp({ databaseUrl, nodes: [{ url: world.anvil.url, deployment: world.deployment }] })

test('the documented rotation of the database password fails no request', { timeout: 120_000 }, async () => {
  const [create = '', close = ''] = documented()
  const next = new URL(store.url)
  next.username = `${store.role}_2`
  next.password = 'NEW_PASSWORD'
  const urls = ['/v1/hedge/events/8453/1', '/v1/hedge/events?chainId=8453', '/v1/hedge/settlements?chainId=8453']

  const members = [await start(store.url), await start(store.url)]
  const first = members[0]
  if (first !== undefined) await indexAll({ chain: chainOf(first.sources.chains, 8453), database: first.database })
  const outcomes: { status: number | undefined; url: string; body: string | undefined }[] = []
  const stop = new AbortController()
  const client = async (): Promise<void> => {
    for (let request = 0; !stop.signal.aborted; request += 1) {
      const member = members[request % members.length]
      const url = urls[request % urls.length] ?? '/'
      const response = await member?.app.inject(url)
      outcomes.push({ url, status: response?.statusCode, body: response?.body })
      await sleep(10)
    }
  }
  /** Waits until so many more requests of the traffic have an answer. */
  const untilAnswered = async (more: number): Promise<void> => {
    const before = outcomes.length
    await expect.poll(() => outcomes.length).toBeGreaterThanOrEqual(before + more)
  }
  const traffic = Promise.all([client(), client()])
  try {
    await store.run(create)
    // One replica after the other, each removed from the load balancer's list first.
    for (const old of [...members]) {
      members.push(await start(next.href))
      members.splice(members.indexOf(old), 1)
      await untilAnswered(20)
      await old.close()
    }
    await store.run(close)
    await sleep(IDLE_MS)
    await untilAnswered(20)

    // The new role may do what the worker and the migration do.
    await migrate({ databaseUrl: next.href })
    const [member] = members
    const block = await member?.sources.queries.indexed(8453)
    if (member === undefined || block == null) throw new Error('nothing is indexed')
    const nodes = chainOf(member.sources.chains, 8453).status()
    const heartbeat = { head: block, proven: block, isQuiet: false, source: 'logs', problem: null, nodes } as const
    await member.database.run((handle) => saveHeartbeat(handle, 8453, heartbeat))
  } finally {
    stop.abort()
    await traffic
    await Promise.all(members.map((member) => member.close()))
    await store.run(`DROP ROLE IF EXISTS ${store.role}_2`)
  }
  expect(outcomes.filter(({ status }) => status !== 200)).toEqual([])
})
