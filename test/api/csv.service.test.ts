import { once } from 'node:events'
import { get as request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { formatUnits, zeroAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { unavailable } from '../../src/lib/errors.ts'
import type { openApp } from '../support/app.ts'
import { csvRows, parseCsv } from '../support/csv.ts'
import { startIndexed } from '../support/indexing.ts'

/* Lists as CSV, in pages of three rows. */

const PAGE_ROWS = 3
const FORMULA = '=HYPERLINK("http://evil.example","a, b")\r\nc'
const CSV = 'text/csv; charset=utf-8; header=present'

let indexed: Awaited<ReturnType<typeof startIndexed>>
let api: Awaited<ReturnType<typeof openApp>>
let origin: string

beforeAll(async () => {
  indexed = await startIndexed([8453, 56])
  const { actions, creator, deployment } = indexed.world
  await actions.createEvent(creator, {
    ...{ name: FORMULA, underlying: 'USD/GHS', strike: 12_000_000n, payoutCap: 13_500_000n, premiumRate: 23_000n },
    ...{ expiry: (await actions.now()) + 30 * 86_400, allowExternalLp: true, initialLiquidity: 10_000_000_000n },
    ...{ initialRate: 11_400_000n, strikeAbove: true, paymentToken: deployment.usdc },
  })
  api = await indexed.open({ csvPageRows: PAGE_ROWS })
  await indexed.quiet()
  await api.app.listen({ port: 0, host: '127.0.0.1' })
  origin = `http://127.0.0.1:${(api.app.server.address() as AddressInfo).port}`
})
afterAll(() => indexed?.close())

type ActivityPage = Awaited<ReturnType<typeof api.sources.lists.activity.page>>

const inject = (path: string, headers: Record<string, string> = {}) => api.app.inject({ url: `/v1${path}`, headers })

type Row = Record<string, unknown>
const Page = z.object({
  data: z.array(z.record(z.string(), z.unknown())),
  meta: z.looseObject({ nextCursor: z.string().nullable() }),
})

/** All rows of a list as JSON. */
const jsonRows = async (path: string): Promise<Row[]> => {
  const rows: Row[] = []
  for (let cursor = ''; ; ) {
    const { data, meta } = Page.parse((await inject(`${path}limit=200${cursor && `&cursor=${cursor}`}`)).json())
    rows.push(...data)
    if (meta.nextCursor === null) return rows
    cursor = meta.nextCursor
  }
}

const isRecord = (value: unknown): value is Row => typeof value === 'object' && value !== null && !Array.isArray(value)

/** What a cell has to be by the JSON row, from the names and values alone. */
const expected = (row: Row, name: string): string => {
  const [, base = name, suffix] = /^(.*?)(Units|Decimal|Iso)?$/.exec(name) ?? []
  const value = base.split('.').reduce<unknown>((at, part) => (isRecord(at) ? at[part] : undefined), row)
  if (suffix === undefined) {
    const text = isRecord(value) ? JSON.stringify(value) : String(value ?? '')
    return typeof value === 'string' && /^[=+\-@\t\r\n']/.test(text) ? `'${text}` : text
  }
  if (value == null || value === 0) return ''
  if (suffix === 'Iso') return new Date(Number(value) * 1_000).toISOString().replace('.000Z', 'Z')
  const decimals = suffix === 'Units' ? Number(row.decimals) : name.includes('utilizationRate') ? 8 : 6
  return formatUnits(BigInt(String(value)), decimals)
}

describe.each([
  ['/hedge/events?include=stats,utilization,range&', 'events', 'stats.totalLiquidityUnits'],
  ['/hedge/events?sort=expiry&order=asc&', 'events', 'strikeDecimal'],
  ['/hedge/positions?include=event,payout&', 'positions', 'payout.netUnits'],
  ['/hedge/deposits?order=asc&', 'deposits', 'premiumsEarnedUnits'],
  ['/activity?', 'activity', 'blockTimestampIso'],
])('%s as CSV', (path, name, column) => {
  test('has the rows of all pages of the JSON, cell by cell', async () => {
    const rows = await jsonRows(path)
    expect(rows.length).toBeGreaterThan(PAGE_ROWS)
    const { statusCode, headers, payload } = await inject(`${path}format=csv`)
    expect([statusCode, headers['content-type'], headers['content-disposition']]).toEqual([
      ...[200, CSV],
      `attachment; filename="${name}.csv"`,
    ])
    expect([headers['cache-control'], headers.etag, headers.link, headers.vary]).toEqual([
      ...['no-store', undefined, undefined],
      'accept, accept-encoding',
    ])
    const cells = csvRows(payload)
    expect(cells).toHaveLength(rows.length)
    expect(Object.keys(cells[0] ?? {})).toEqual(expect.arrayContaining([column, 'nextCursor']))
    for (const [at, cell] of cells.entries()) {
      const { nextCursor, ...own } = cell
      expect(nextCursor).toBe('')
      expect(own).toEqual(Object.fromEntries(Object.keys(own).map((key) => [key, expected(rows[at] ?? {}, key)])))
    }
  })

  test('continues after any limit at the cursor of its last row', async () => {
    const rows = csvRows((await inject(`${path}format=csv`)).payload)
    for (const limit of [1, PAGE_ROWS, PAGE_ROWS + 1]) {
      const { payload, headers } = await inject(`${path}format=csv&limit=${limit}`)
      const begun = csvRows(payload)
      const cursor = begun.at(-1)?.nextCursor ?? ''
      expect([begun.length, cursor === '', headers.link !== undefined]).toEqual([limit, false, limit <= PAGE_ROWS])
      expect(begun.slice(0, -1).filter(({ nextCursor }) => nextCursor !== '')).toEqual([])
      const rest = csvRows((await inject(`${path}format=csv&cursor=${encodeURIComponent(cursor)}`)).payload)
      expect([...begun, ...rest].map((row) => ({ ...row, nextCursor: '' }))).toEqual(rows)
    }
  })
})

test('a text of the chain that begins as a formula does not become one', async () => {
  const { payload } = await inject('/hedge/events?chainId=8453&format=csv')
  const { name } = csvRows(payload).find((row) => row.name?.includes('HYPERLINK')) ?? {}
  expect(name).toBe(`'${FORMULA}`)
})

test('a list without rows is the line with its columns', async () => {
  const { payload } = await inject('/activity?format=csv&to=1000000000')
  expect([parseCsv(payload).length, payload.endsWith(',nextCursor\r\n')]).toEqual([1, true])
})

test('rows are named by their ids as in JSON', async () => {
  const ids = async (query: string) => csvRows((await inject(`/hedge/events?${query}`)).payload).map(({ id }) => id)
  expect(await ids('chainId=8453&ids=2,1,3,4&format=csv')).toEqual(['2', '1', '3', '4'])
  const { statusCode, headers } = await inject('/hedge/events?chainId=8453&ids=1&limit=5&format=csv')
  expect([statusCode, headers['content-type']]).toEqual([400, 'application/json; charset=utf-8'])
})

test('CSV and JSON of one URL are never taken for each other', async () => {
  for (const path of ['/hedge/events?chainId=8453', '/activity?chainId=8453']) {
    const json = await inject(path)
    const tag = { 'if-none-match': String(json.headers.etag) }
    const csv = await inject(path, { accept: 'text/csv' })
    expect([csv.headers['content-type'], csv.headers.etag]).toEqual([CSV, undefined])
    const again = await inject(path, tag)
    const tagged = await inject(path, { accept: 'text/csv', ...tag })
    expect([again.statusCode, tagged.statusCode, tagged.payload]).toEqual([304, 200, csv.payload])
    const named = await inject(`${path}&format=csv`, { accept: 'application/json', ...tag })
    expect([named.statusCode, named.payload]).toEqual([200, csv.payload])
    const last = await inject(path, { accept: '*/*' })
    expect([last.headers['content-type'], last.payload]).toEqual([json.headers['content-type'], json.payload])
    const asJson = await inject(`${path}&format=json`, { accept: 'text/csv' })
    expect([asJson.headers['content-type'], asJson.json().data]).toEqual([
      json.headers['content-type'],
      json.json().data,
    ])
  }
})

test('a HEAD request has the headers alone, and reads one page', async () => {
  const reads = await withReads(
    (_, page) => page,
    async () => {
      const { statusCode, headers, payload } = await api.app.inject({ method: 'HEAD', url: '/v1/activity?format=csv' })
      expect([statusCode, headers['content-type'], payload]).toEqual([200, CSV, ''])
      await sleep(100)
    },
  )
  expect(reads).toBe(1)
})

test.each([
  ['/activity?format=xml', 'format'],
  ['/hedge/positions?format=', 'format'],
  ['/hedge/events?format=csv&limit=100001', 'limit'],
  ['/hedge/events?format=csv&limit=0', 'limit'],
  ['/hedge/events?format=json&limit=201', 'limit'],
  ['/hedge/deposits?format=csv&cursor=abc', 'cursor'],
  ['/hedge/deposits?format=csv&minBlock=1', 'chainId'],
])('%s is a 400 in JSON that names the field', async (path, field) => {
  const { statusCode, headers, payload } = await inject(path, { accept: 'text/csv' })
  const { error } = JSON.parse(payload)
  expect([statusCode, headers['content-type'], error.details[0].path]).toEqual([
    ...[400, 'application/json; charset=utf-8'],
    field,
  ])
})

/** Changes the reads of activity by their number, from 1, while `run` lasts. Returns the number of reads. */
const withReads = async (change: (nth: number, page: ActivityPage) => unknown, run: () => Promise<void>) => {
  const { activity } = api.sources.lists
  const read = activity.page
  let reads = 0
  const page = async (query: Parameters<typeof read>[0]) => {
    reads += 1
    const nth = reads
    return change(nth, await read(query))
  }
  Object.assign(activity, { page })
  try {
    await run()
  } finally {
    Object.assign(activity, { page: read })
  }
  return reads
}

/** Reads a body as far as it comes. */
const received = async (path: string) => {
  const [response] = await once(request(`${origin}/v1${path}`), 'response')
  let text = ''
  try {
    for await (const chunk of response) text += chunk
  } catch {
    return { text, isWhole: false }
  }
  return { text, isWhole: response.complete as boolean }
}

const outOfReach = () => {
  throw unavailable('the database is out of reach')
}

test.each([
  ['a failure of', () => outOfReach()],
  [
    'a reorg before',
    ({ tips, ...page }: ActivityPage) => ({ ...page, tips: tips.map((tip) => ({ ...tip, reorged: true })) }),
  ],
])('%s a later page ends the connection, so that a part is not taken for the whole', async (_, change) => {
  const reads = await withReads(
    (nth, page) => (nth === 3 ? change(page) : page),
    async () => {
      const { text, isWhole } = await received('/activity?format=csv')
      expect([parseCsv(text).length, isWhole]).toEqual([1 + 2 * PAGE_ROWS, false])
    },
  )
  expect(reads).toBe(3)
  expect((await received('/activity?format=csv')).isWhole).toBe(true)
})

test('the file has the wallet and the time in its name, and not a list of wallets', async () => {
  const [wallet, other] = [zeroAddress, '0x1111111111111111111111111111111111111111']
  const nameOf = async (path: string) => (await inject(`${path}&format=csv`)).headers['content-disposition']
  expect(await nameOf(`/activity?wallet=${wallet}&to=2026-09-30T00:00:00Z`)).toBe(
    `attachment; filename="activity-${wallet}-2026-09-30T000000Z.csv"`,
  )
  expect(await nameOf(`/hedge/deposits?wallet=${wallet},${other}`)).toBe('attachment; filename="deposits.csv"')
})

test('a failure of the first page is an error as for JSON', async () => {
  await withReads(outOfReach, async () => {
    const { statusCode, headers, payload } = await inject('/activity?format=csv')
    expect([statusCode, headers['content-type'], headers['content-disposition']]).toEqual([
      ...[503, 'application/json; charset=utf-8'],
      undefined,
    ])
    expect(JSON.parse(payload).error.code).toBe('service_unavailable')
  })
})

test('a client that leaves ends the reads', async () => {
  let release = (): void => {}
  const left = new Promise<void>((resolve) => {
    release = resolve
  })
  const reads = await withReads(
    async (nth, page) => {
      if (nth === 2) await left
      return page
    },
    async () => {
      const begun = once(api.app.server, 'request')
      const sent = request(`${origin}/v1/activity?format=csv`)
      const [response] = await once(sent, 'response')
      const [, served] = await begun
      for (const each of [sent, response]) each.on('error', () => {})
      response.destroy()
      await once(served, 'close')
      release()
      await sleep(100)
    },
  )
  expect(reads).toBe(2)
})

test('what only JSON can show is refused, and not left out', async () => {
  const refused = async (query: string) => {
    const { statusCode, body } = await api.app.inject(`/v1/hedge/positions?chainId=8453&format=csv&${query}`)
    return [statusCode, JSON.parse(body).error?.details?.[0]?.path]
  }
  expect(await refused('count=true')).toEqual([400, 'count'])
  expect(await refused('ids=1,999999')).toEqual([400, 'ids'])
  expect((await inject('/hedge/positions?chainId=8453&format=csv&count=false')).statusCode).toBe(200)
})

test('a stream that `Accept` chooses has no limit', async () => {
  for (const feed of ['/v1/changes', '/v1/hedge/settlements']) {
    const url = `${feed}?since=now&limit=3`
    const { statusCode, body } = await api.app.inject({ url, headers: { accept: 'text/event-stream' } })
    expect([statusCode, JSON.parse(body).error.details[0].path], feed).toEqual([400, 'limit'])
  }
})

test('each page of a CSV answer counts as a request', async () => {
  const limited = await indexed.open({ csvPageRows: PAGE_ROWS, limits: { requestsPerMinute: 1_000 } })
  await indexed.quiet()
  const remaining = async (url: string) => {
    const { headers, payload } = await limited.app.inject({ url })
    return { remaining: Number(headers['ratelimit-remaining']), rows: payload.split('\r\n').length - 2 }
  }
  const before = await remaining('/v1/chains')
  const { rows } = await remaining('/v1/activity?chainId=8453&format=csv&limit=8')
  const after = await remaining('/v1/chains')
  expect([rows, before.remaining - after.remaining]).toEqual([8, 1 + 3])
})
