import { eq } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import { getAddress } from 'viem'
import { expect, test } from 'vitest'
import { asRows, copyMany, insertMany } from '../../src/db/bulk.ts'
import { copyRows } from '../../src/db/copy-rows.ts'
import type { Copy, Handle } from '../../src/db/pool.ts'
import { feedFloors } from '../../src/db/schema/feed.ts'
import { refreshQueue, upgrades } from '../../src/db/schema/index-state.ts'
import { deposits, events, feeRates, tokens } from '../../src/db/schema/records.ts'

const HEADER = '5047434f50590aff0d0a000000000000000000'

/** The fields of the rows of a binary COPY, as hex; null for NULL. */
const decoded = (buffers: readonly Uint8Array[]): (string | null)[][] => {
  const bytes = Buffer.concat(buffers)
  expect(bytes.subarray(0, 19).toString('hex')).toBe(HEADER)
  const rows: (string | null)[][] = []
  let at = 19
  for (;;) {
    const columns = bytes.readInt16BE(at)
    at += 2
    if (columns === -1) break
    rows.push(
      Array.from({ length: columns }, () => {
        const length = bytes.readInt32BE(at)
        at += 4
        if (length === -1) return null
        at += length
        return bytes.subarray(at - length, at).toString('hex')
      }),
    )
  }
  expect(at).toBe(bytes.length)
  return rows
}

const { strike } = events
const { id, chainId } = deposits
const numeric = (value: bigint) => decoded(copyRows([['strike', strike]], {}, [{ strike: value }]))[0]?.[0]
const digit = (value: number): string => value.toString(16).padStart(4, '0')
/** A numeric of digits of base 10,000, highest first. */
const digits = (...all: number[]): string =>
  [digit(all.length), digit(Math.max(all.length - 1, 0)), '00000000', ...all.map(digit)].join('')

test.each([
  [0n, digits()],
  [1n, digits(1)],
  [9_999n, digits(9_999)],
  [10_000n, digits(1, 0)],
  [123_456_789n, digits(1, 2345, 6789)],
  [2n ** 53n - 1n, digits(9007, 1992, 5474, 991)],
  [2n ** 53n, digits(9007, 1992, 5474, 992)],
  [10n ** 16n, digits(1, 0, 0, 0, 0)],
  [10n ** 24n + 7n, digits(1, 0, 0, 0, 0, 0, 7)],
  [10n ** 28n, digits(1, 0, 0, 0, 0, 0, 0, 0)],
  [
    2n ** 256n - 1n,
    digits(
      ...[11, 5792, 892, 3731, 6195, 4235, 7098, 5008, 6879, 785, 3269, 9846],
      ...[6564, 564, 394, 5758, 4007, 9131, 2963, 9935],
    ),
  ],
])('%i is a numeric of its digits of base 10,000', (value, expected) => {
  expect(numeric(value)).toBe(expected)
})

test('a negative amount is rejected', () => {
  expect(() => numeric(-1n)).toThrow(RangeError)
})

test.each([
  [0n, '0000000000000000'],
  [1n, '0000000000000001'],
  [2n ** 32n - 1n, '00000000ffffffff'],
  [2n ** 32n, '0000000100000000'],
  [2n ** 53n - 1n, '001fffffffffffff'],
  [2n ** 53n, '0020000000000000'],
  [2n ** 63n - 1n, '7fffffffffffffff'],
  [-1n, 'ffffffffffffffff'],
])('%i is a bigint of eight bytes', (value, expected) => {
  expect(decoded(copyRows([['id', id]], {}, [{ id: value }]))).toEqual([[expected]])
})

test('integers, bytes and texts have their own encodings, and null has none', () => {
  const columns = [
    ['chainId', chainId],
    ['creator', events.creator],
    ['underlying', events.underlying],
    ['txHash', upgrades.txHash],
  ] as const
  const creator = `0x${'ab'.repeat(20)}`
  const row = { creator, underlying: 'é"\u0000', txHash: null }
  expect(decoded(copyRows(columns, { chainId: 8453 }, [row, { ...row, txHash: `0x${'01'.repeat(32)}` }]))).toEqual([
    ['00002105', 'ab'.repeat(20), 'c3a92200', null],
    ['00002105', 'ab'.repeat(20), 'c3a92200', '01'.repeat(32)],
  ])
})

test('rows of any number and length fit', () => {
  const row = (at: number) => ({
    id: BigInt(at),
    underlying: 'x'.repeat(at === 0 ? 200_000 : at % 30 === 0 ? 70_000 : 5),
  })
  const rows = Array.from({ length: 300 }, (_, at) => row(at))
  const found = decoded(
    copyRows(
      [
        ['id', id],
        ['underlying', events.underlying],
      ],
      {},
      rows,
    ),
  )
  expect(found.map(([number, text]) => [BigInt(`0x${number}`), (text?.length ?? 0) / 2])).toEqual(
    rows.map(({ id: number, underlying }) => [number, underlying.length]),
  )
})

test('rows without bytes fit in any number', () => {
  const rows = Array.from({ length: 9_000 }, (_, at) => ({ id: BigInt(at) }))
  expect(decoded(copyRows([['id', id]], {}, rows)).map(([number]) => BigInt(`0x${number}`))).toEqual(
    rows.map((row) => row.id),
  )
})

test('a column of a type that COPY does not support is an error', () => {
  expect(() => copyRows([['reason', feedFloors.reason]], {}, [])).toThrow(/type text/)
})

test('the shared columns and those of the first row are copied, in the order of the table', async () => {
  const calls: [string, (string | null)[][]][] = []
  const copy: Copy = async (statement, bytes) => {
    calls.push([statement, decoded(bytes)])
  }
  await copyMany(copy, deposits, { chainId: 1 }, [{ eventId: 3n, id: 2n, unknown: 5, chainId: 9 }])
  await copyMany(copy, deposits, { chainId: 1 }, [])
  await copyMany(copy, deposits, { chainId: 1 }, [{ id: 2n }])
  expect(calls).toEqual([
    [
      'COPY "deposits" ("id","event_id","chain_id") FROM STDIN (FORMAT binary)',
      [['0000000000000002', '0000000000000003', '00000001']],
    ],
    ['COPY "deposits" ("id","chain_id") FROM STDIN (FORMAT binary)', [['0000000000000002', '00000001']]],
  ])
})

/** The statements that a handle was given. */
const fakeHandle = () => {
  const statements: { readonly sql: string; readonly params: unknown[] }[] = []
  const execute = async (query: Parameters<PgDialect['sqlToQuery']>[0]) => {
    statements.push(new PgDialect().sqlToQuery(query))
  }
  return { statements, handle: { execute } as unknown as Handle }
}

test('inserted rows are one parameter per column, with their types, texts and nulls', async () => {
  const { statements, handle } = fakeHandle()
  const token = `0x${'ab'.repeat(20)}` as const
  await insertMany(handle, tokens, [
    { decimals: 6, chainId: 1, address: token, symbol: 'a"\\' },
    { decimals: 18, chainId: 2, address: token, symbol: null },
  ])
  await insertMany(handle, tokens, [])
  expect(statements).toHaveLength(1)
  expect(statements[0]?.sql).toBe(
    'INSERT INTO "tokens" ("chain_id", "address", "symbol", "decimals") SELECT * FROM unnest($1::integer[], $2::bytea[], $3::bytea[], $4::smallint[]) ON CONFLICT DO NOTHING',
  )
  const bytes = (hex: string): string => `"\\\\x${hex}"`
  expect(statements[0]?.params).toEqual([
    '{1,2}',
    `{${bytes('ab'.repeat(20))},${bytes('ab'.repeat(20))}}`,
    `{${bytes('61225c')},NULL}`,
    '{6,18}',
  ])
})

test('texts of an array are quoted, and a condition on conflicts replaces the usual one', async () => {
  const { source, names } = asRows(feeRates, [{ chainId: 1, hedgerFeeRate: 2n ** 256n - 1n }])
  const { sql: text, params } = new PgDialect().sqlToQuery(source)
  expect(text).toBe('unnest($1::integer[], $2::numeric(78,0)[])')
  expect(params).toEqual(['{1}', `{"${2n ** 256n - 1n}"}`])
  expect(names.map(({ value }) => value)).toEqual(['chain_id', 'hedger_fee_rate'])
  const subjects = asRows(refreshQueue, [{ subject: 'a"b\\"c' }])
  expect(new PgDialect().sqlToQuery(subjects.source).params).toEqual(['{"a\\"b\\\\\\"c"}'])
  const { statements, handle } = fakeHandle()
  await insertMany(handle, tokens, [{ chainId: 1, decimals: 1 } as never], eq(tokens.chainId, 1))
  expect(statements[0]?.sql).toMatch(/"tokens"."chain_id" = \$3$/)
})

test('columns convert between values of the service and those of the driver', () => {
  expect(events.strike.mapToDriverValue(2n ** 256n - 1n)).toBe(String(2n ** 256n - 1n))
  expect(events.strike.mapFromDriverValue('12')).toBe(12n)
  const bytes = 'ab'.repeat(20)
  expect(events.creator.mapToDriverValue(`0x${bytes}`)).toBe(`\\x${bytes}`)
  for (const given of [Buffer.from(bytes, 'hex'), `\\x${bytes}`])
    expect(events.creator.mapFromDriverValue(given as never)).toBe(getAddress(`0x${bytes}`))
  expect(events.underlying.mapToDriverValue('é')).toEqual(Buffer.from('é'))
  for (const given of [Buffer.from('c3a9', 'hex'), '\\xc3a9'])
    expect(events.underlying.mapFromDriverValue(given as never)).toBe('é')
  for (const given of [Buffer.from('01ff', 'hex'), '\\x01ff'])
    expect(upgrades.txHash.mapFromDriverValue(given as never)).toBe('0x01ff')
})
