import { afterAll, beforeAll, expect, test } from 'vitest'
import { newestChange } from '../../src/db/changes/changes.ts'
import { insertFacts, moveCursor, rollBack } from '../../src/db/index/write.ts'
import { createRenderer, type Renderer } from '../../src/db/rendering.ts'
import type { Deployment } from '../../src/protocol/chains.ts'
import { ROW_FORMAT } from '../../src/protocol/records.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { eventually } from '../support/process.ts'
import { observeRandomRows, type RandomRows, randomRows, writeRandomRows } from '../support/random-rows.ts'
import { byForm } from '../support/repetitions.ts'
import { blockOf, seedDeployment } from '../support/seed-index.ts'

/** Two releases on one database during a rolling update: each renders, stores and serves rows of its own format. */
const formats = [ROW_FORMAT, ROW_FORMAT + 1] as const

/** Rows and inclusions of a format start with its number, so that the other format is recognized. */
const rendererOf =
  (format: number) =>
  (deployment: Deployment): Renderer => {
    const renderer = createRenderer(deployment, format)
    const marked = (text: string): string => text.replace('{', `{"format":${format},`)
    return {
      ...renderer,
      row: (...of) => marked(renderer.row(...of)),
      inclusions: (...of) => renderer.inclusions(...of).map(marked),
    }
  }

const deployment = seedDeployment(8453)
const COUNT = 40
const base = randomRows(deployment, COUNT, 3)

/** The versions that the writers store alternately: the same facts, observed with other amounts. */
const versions: readonly RandomRows[] = [0n, 1n, 2n].map((change) => ({
  ...base,
  events: base.events.map((it) => ({
    ...it,
    seen: { ...it.seen, stats: { ...it.seen.stats, totalPremiums: change } },
  })),
  deposits: base.deposits.map((it) => ({ ...it, seen: { ...it.seen, pending: change } })),
  positions: base.positions.map(({ fact, seen }) => ({
    fact,
    seen: { position: { ...seen.position, status: 4, payoutAmount: change } },
  })),
}))

let store: TestDatabase
let apis: readonly Awaited<ReturnType<typeof openApp>>[]
/** The possible rows of each format: the row of each version, by the path and the row's id. */
const allowed = formats.map(() => new Map<string, Set<string>>())

const paths = ['events', 'deposits', 'positions'].flatMap((kind) => [
  `/v1/hedge/${kind}?chainId=8453&limit=200&order=asc`,
  `/v1/hedge/${kind}?chainId=8453&limit=200&order=asc&include=stats,range`,
])

/** The rows of an answer as they were sent. */
const rowsIn = (body: string, format: number): string[] =>
  body
    .slice(body.indexOf('[') + 1, body.indexOf('],"meta":'))
    .split(`,{"format":${format},"id":`)
    .map((row, at) => (at === 0 ? row : `{"format":${format},"id":${row}`))

beforeAll(async () => {
  store = await createTestDatabase()
  apis = await Promise.all(
    formats.map((format) =>
      openApp({ databaseUrl: store.url, nodes: [{ deployment }], rendererOf: rendererOf(format) }),
    ),
  )
  const [first] = apis
  if (first === undefined) throw new Error('no API')
  await writeRandomRows(first.database, deployment, base, rendererOf(formats[0])(deployment))
  // Each format is stored alone first, to learn its possible rows.
  for (const version of versions) {
    for (const [at, format] of formats.entries()) {
      const renderer = rendererOf(format)(deployment)
      await first.database.transaction((handle) => observeRandomRows(handle, deployment, version, renderer))
      // Earlier responses are cached until the change is known.
      const newest = await first.database.run(newestChange)
      await eventually('the change is known', () => apis[at]?.sources.changes.position() === newest)
      for (const path of paths) {
        const rows = rowsIn((await apis[at]?.app.inject({ url: path }))?.body ?? '', format)
        expect(rows, path).toHaveLength(COUNT)
        for (const [place, row] of rows.entries()) {
          expect(JSON.parse(row)).toMatchObject({ format, id: place + 1 })
          const key = `${path} ${place}`
          allowed[at]?.set(key, (allowed[at]?.get(key) ?? new Set()).add(row))
        }
      }
    }
  }
})
afterAll(async () => {
  await Promise.all(apis.map((api) => api.close()))
  await store?.close()
})

test('each of two releases answers in its own format while both write and roll back', async () => {
  const database = openDatabase(store.url, { maxConnections: 4 })
  const end = Date.now() + byForm(2_000, 6_000)
  const write = async (format: number, start: number): Promise<number> => {
    const renderer = rendererOf(format)(deployment)
    let writes = 0
    // However slow the machine is, each release writes and rolls back.
    for (; Date.now() < end || writes < 2; writes += 1) {
      const version = versions[(start + writes) % versions.length] ?? base
      await database.transaction(async (handle, copy) => {
        if (writes % 2 === 1) {
          await rollBack(handle, 8453, blockOf(500n))
          const left = <T extends { readonly fact: { readonly blockNumber: bigint } }>(all: readonly T[]): T[] =>
            all.filter(({ fact }) => fact.blockNumber > 500n)
          const { events, deposits, positions } = base
          const facts = [...left(events), ...left(deposits), ...left(positions)].map(({ fact }) => fact)
          await insertFacts(copy, 8453, facts)
          await moveCursor(handle, 8453, blockOf(1_000n))
        }
        await observeRandomRows(handle, deployment, version, renderer)
      })
    }
    return writes
  }
  let answers = 0
  const read = async (at: number): Promise<void> => {
    for (let turn = 0; Date.now() < end || turn < 6; turn += 1) {
      const path = paths[turn % paths.length] ?? ''
      const answer = await apis[at]?.app.inject({ url: path })
      expect(answer?.statusCode, answer?.body).toBe(200)
      const rows = rowsIn(answer?.body ?? '', formats[at] ?? 0)
      expect(rows).toHaveLength(COUNT)
      for (const [place, row] of rows.entries())
        if (!allowed[at]?.get(`${path} ${place}`)?.has(row))
          throw new Error(`${path}: ${row} is of no version in format ${formats[at]}`)
      answers += 1
    }
  }
  try {
    const [first, second] = await Promise.all([
      write(formats[0], 0),
      write(formats[1], 1),
      read(0),
      read(0),
      read(1),
      read(1),
    ])
    expect(first).toBeGreaterThan(1)
    expect(second).toBeGreaterThan(1)
    expect(answers).toBeGreaterThan(20)
  } finally {
    await database.close()
  }
})
