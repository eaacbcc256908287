import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Database } from '../../src/db/pool.ts'
import { compareMembers, compareWallets, type WalletPosition } from '../../src/indexer/audit/lists.ts'
import { openAuditedIndex, rows } from '../support/audited-index.ts'
import { Failure } from '../support/script.ts'
import { walletOf } from '../support/seed-index.ts'
import { seededChain } from '../support/seeded-chain.ts'

/* The comparison of the lists of ids, over seeded rows and a chain in memory. */

type Views = NonNullable<Parameters<typeof seededChain>[1]>['views']

let index: Awaited<ReturnType<typeof openAuditedIndex>>
let database: Database

beforeAll(async () => {
  index = await openAuditedIndex()
  database = index.database
})
afterAll(() => index?.close())
beforeEach(() => index.reset())

/** Adds copies of a deposit with other ids. */
const addDeposits = (of: number, from: number, upTo: number) =>
  index.run(`INSERT INTO deposits (chain_id, id, event_id, lp, amount, shares, block_number, block_hash, block_timestamp, tx_hash, log_index)
    SELECT chain_id, of.id, event_id, lp, amount, shares, block_number, block_hash, block_timestamp, tx_hash, 1000 + of.id
    FROM deposits, generate_series(${from}, ${upTo}) AS of (id) WHERE deposits.id = ${of}`)

test('of a chain without an index are refused', async () => {
  const { chain } = seededChain(rows, { chainId: 56 })
  await expect(compareMembers({ chain, database }, [1n])).rejects.toThrow('chain 56 is not indexed yet')
})

describe('the members of events', () => {
  const compare = (ids: readonly bigint[], views: Views = {}) =>
    compareMembers({ chain: seededChain(rows, { views }).chain, database }, ids)

  test('are compared without regard to their order, and a list that reverts is empty', async () => {
    await addDeposits(1, 9, 10)
    const views = {
      getEventDepositIds: () => [10n, 1n, 9n],
      getEventPositionIds: () => new Failure(3, 'execution reverted'),
    }
    expect(await compare([2n], views)).toEqual({
      lists: 2,
      differences: ['getEventPositionIds of 2: [1] in the index, [] on the chain'],
    })
    expect(await compare([9n], { ...views, getEventDepositIds: () => [] })).toEqual({ lists: 2, differences: [] })
    const refused = { getEventDepositIds: () => new Failure(-32_000, 'rate limit') }
    await expect(compare([2n], refused)).rejects.toThrow('no node has that block or takes requests now')
  })

  test.each([
    [199, 1],
    [200, 0],
    [201, 1],
    // A deployment without that bound.
    [258, 0],
  ])('of 258, of which a deployment returns %i, have %i differences', async (count, differences) => {
    await addDeposits(3, 4, 260)
    const ids = [3n, ...Array.from({ length: count - 1 }, (_, at) => BigInt(at + 4))]
    const found = await compare([1n], { getEventDepositIds: () => ids })
    expect(found.differences).toHaveLength(differences)
  })
})

describe('the lists of wallets', () => {
  const walk = async (limit: number, views: Views = {}) => {
    const { chain } = seededChain(rows, { views })
    const steps: string[] = []
    const differences: string[] = []
    for (let position: WalletPosition | null = { kind: 'event', after: null }; position !== null; ) {
      const found: Awaited<ReturnType<typeof compareWallets>> = await compareWallets(
        { chain, database },
        position,
        limit,
      )
      steps.push(`${position.kind} ${position.after === null ? 'first' : 'more'} ${found.lists}`)
      differences.push(...found.differences)
      position = found.next
    }
    return { steps, differences }
  }

  test.each([
    [2, ['event first 1', 'deposit first 2', 'deposit more 1', 'position first 2', 'position more 1']],
    [3, ['event first 1', 'deposit first 3', 'deposit more 0', 'position first 3', 'position more 0']],
    [4, ['event first 1', 'deposit first 3', 'position first 3']],
  ])('are compared %i at a time, kind by kind', async (limit, steps) => {
    expect(await walk(limit)).toEqual({ steps, differences: [] })
  })

  test('differ by ids, also where as many are listed', async () => {
    const { differences } = await walk(9, { getCreatorEventIds: () => [4n, 2n, 1n] })
    expect(differences).toEqual([`getCreatorEventIds of ${walletOf(0)}: [1,2,3] in the index, [1,2,4] on the chain`])
  })
})
