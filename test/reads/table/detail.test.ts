import { expect, test } from 'vitest'
import { unavailable } from '../../../src/lib/errors.ts'
import type { Kind } from '../../../src/protocol/entities.ts'
import type { Read, ReadIndexed, ReadSources } from '../../../src/reads/read.ts'
import { detail } from '../../../src/reads/table/detail.ts'
import { createIndexed } from '../../../src/reads/table/indexed.ts'
import { listRow, listSources } from '../../support/list-sources.ts'
import { blockOf, seedToken } from '../../support/seed-index.ts'

/* A single record is the state of the chain, and what the index adds to it. */

const tx = { created: `0x${'a1'.repeat(32)}`, ended: `0x${'b2'.repeat(32)}` } as const
const created = { createdBlock: 7, createdTx: tx.created, createdAt: 1_800_000_014, createdLogIndex: 3 }
const ofToken = { token: seedToken, symbol: 'USDC', decimals: 6 }
const unknown = {
  ...{ createdBlock: null, createdTx: null, createdAt: null, createdLogIndex: null },
  ...{ token: null, symbol: null, decimals: null },
}

type Case = Readonly<Record<'open' | 'ended' | 'none' | 'ending', object>> & { readonly kind: Kind }

/** A record that has not ended and one that has, and the fields of its end. */
const kinds: readonly Case[] = [
  {
    ...{ kind: 'event', open: { id: 4, status: 0 }, ended: { id: 4, status: 1 } },
    ...{ none: { settledBlock: null, settledTx: null }, ending: { settledBlock: 9, settledTx: tx.ended } },
  },
  {
    ...{ kind: 'deposit', open: { id: 4, withdrawn: false }, ended: { id: 4, withdrawn: true } },
    ...{ none: { withdrawnAt: null, withdrawnTx: null }, ending: { withdrawnAt: 1_900, withdrawnTx: tx.ended } },
  },
  {
    ...{ kind: 'position', open: { id: 4, claimed: false }, ended: { id: 4, claimed: true } },
    ...{ none: { claimedAt: null, claimedTx: null }, ending: { claimedAt: 1_900, claimedTx: tx.ended } },
  },
]

const ofLogs = {
  ...{ txHash: tx.created, logIndex: '3', settledBlock: '9', settledTx: tx.ended },
  ...{ withdrawnAt: '1900', withdrawnTx: tx.ended, claimedAt: '1900', claimedTx: tx.ended },
} as const

const rowsOf = (kind: Kind, own: object | null) => {
  const asked: unknown[] = []
  const { sources } = listSources({
    one(...of) {
      asked.push(of)
      return own === null ? null : listRow(kind, 8453, 4, own)
    },
  })
  return { indexed: createIndexed(sources.lists), asked }
}

const read = async (
  kind: Kind,
  answer: { readonly data: object } | { readonly missing: string },
  indexed: ReadIndexed,
) => {
  const freshness = { source: 'chain', block: blockOf(70n), stale: false } as const
  const of = { description: 'Reads.', answer: async () => ({ freshness, ...answer }) } as unknown as Read
  const made = await detail(kind, of).answer({ indexed } as ReadSources, { chainId: 8453, id: 4 } as never)
  return 'data' in made ? { data: made.data, isPartial: made.isPartial } : made
}

test.each(kinds)(
  'a single $kind has its creation, its token and its end as rows have them',
  async ({ kind, ended, ending }) => {
    const { indexed, asked } = rowsOf(kind, ofLogs)
    const data = { ...ended, chainId: 8453, ...created, ...ofToken, ...ending }
    expect(await read(kind, { data: ended }, indexed)).toEqual({ data, isPartial: false })
    expect(asked).toEqual([[kind, 8453, 4n]])
  },
)

test.each(kinds)(
  'a single $kind that has not ended in the state has no end, whatever the index has',
  async ({ kind, open, none }) => {
    const { indexed } = rowsOf(kind, ofLogs)
    const data = { ...open, chainId: 8453, ...created, ...ofToken, ...none }
    expect(await read(kind, { data: open }, indexed)).toEqual({ data, isPartial: false })
  },
)

test.each(kinds)(
  'a single $kind that the index does not have yet is whole, with nulls',
  async ({ kind, ended, none }) => {
    const data = { ...ended, chainId: 8453, ...unknown, ...none }
    for (const row of [null, { ...ofLogs, token: null }])
      expect(await read(kind, { data: ended }, rowsOf(kind, row).indexed)).toEqual({ data, isPartial: true })
  },
)

test('what the index does not know yet may be known later', async () => {
  const isPartialOf = async (own: object, data: object = { id: 4, claimed: true }) =>
    Object(await read('position', { data }, rowsOf('position', own).indexed)).isPartial
  expect(await isPartialOf(ofLogs)).toBe(false)
  expect(await isPartialOf({ ...ofLogs, txHash: null, logIndex: null })).toBe(true)
  expect(await isPartialOf({ ...ofLogs, claimedAt: null, claimedTx: null })).toBe(true)
  expect(await isPartialOf({ ...ofLogs, claimedAt: null, claimedTx: null }, { id: 4, claimed: false })).toBe(false)
})

test('an index that is out of reach or too slow leaves nulls, and the record is partial', async () => {
  const data = { id: 4, claimed: true, chainId: 8453, ...unknown, claimedAt: null, claimedTx: null }
  const { lists } = listSources({}).sources
  const answers = [
    () => Promise.reject(unavailable('the database is out of reach')),
    () => new Promise<never>(() => {}),
  ]
  for (const one of answers) {
    const indexed = createIndexed({ ...lists, listings: { ...lists.listings, one } }, 1)
    expect(await read('position', { data: { id: 4, claimed: true } }, indexed)).toEqual({ data, isPartial: true })
  }
})

test('a fault of the index is one of the read, and a missing record stays missing', async () => {
  const { lists } = listSources({}).sources
  const fails = createIndexed({
    ...lists,
    listings: { ...lists.listings, one: () => Promise.reject(Error('a bug')) },
  })
  await expect(read('position', { data: { id: 4, claimed: true } }, fails)).rejects.toThrow('a bug')
  expect(await read('position', { missing: 'no 4' }, rowsOf('position', null).indexed)).toMatchObject({
    missing: 'no 4',
  })
})
