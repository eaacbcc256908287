import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Chain } from '../../src/chain/chain.ts'
import { LogsPruned } from '../../src/chain/rpc/errors.ts'
import { addAnchor, moveCursor } from '../../src/db/index/write.ts'
import type { Database } from '../../src/db/pool.ts'
import type { StoredBlock } from '../../src/db/stored.ts'
import { audit } from '../../src/indexer/audit/audit.ts'
import { chainId, openAuditedIndex, rows } from '../support/audited-index.ts'
import { Failure } from '../support/script.ts'
import { blockOf, seedDeployment, walletOf } from '../support/seed-index.ts'
import { seededChain } from '../support/seeded-chain.ts'

/* The report of a whole audit, over seeded rows and a chain in memory. */

const log = pino({ level: 'silent' })

let index: Awaited<ReturnType<typeof openAuditedIndex>>
let database: Database

beforeAll(async () => {
  index = await openAuditedIndex()
  database = index.database
})
afterAll(() => index?.close())
beforeEach(() => index.reset())

const run = (statement: string) => index.run(statement)

type Options = Parameters<typeof seededChain>[1]

const report = (options: Partial<Parameters<typeof audit>[0]> = {}, chain: Options = {}) =>
  audit({ chain: seededChain(rows, chain).chain, database, log, pauseMs: 1, waitBudgetMs: 3, ...options })

const addBlock = (block: StoredBlock) =>
  database.transaction(async (handle) => {
    await addAnchor(handle, chainId, block, true)
    await moveCursor(handle, chainId, block)
  })

describe('an index that equals the chain', () => {
  const onChain = { event: 3, deposit: 3, position: 3, chain: 1 }
  /** Lists of the ids 0 to 4 of events, of one creator, and of three depositors and hedgers. */
  const lists = 2 * 5 + 1 + 3 + 3

  test('has no difference, and the report counts rows, columns and values', async () => {
    const found = await report()
    const block = blockOf(10n)
    expect(found).toMatchObject({
      chainId,
      firstBlock: block,
      block,
      onChain,
      lists,
      unconfirmed: [],
      differences: [],
      found: 0,
    })
    expect(found.tables.map(({ table, rows, columns, values }) => [table, rows, columns, values])).toEqual([
      ['chain_observations', 1, 10, 10],
      ['events', 3, 12, 36],
      ['event_observations', 3, 23, 69],
      ['settlements', 0, 6, 0],
      ['deposits', 3, 9, 27],
      ['deposit_observations', 3, 7, 21],
      ['positions', 3, 10, 30],
      ['position_observations', 3, 6, 18],
      ['ledger', 9, 12, 108],
    ])
    expect(found.notCompared).toEqual([
      expect.stringMatching(/^chain_observations .*: values of the service itself$/),
      expect.stringMatching(/^fee_rates: whether the index lacks/),
    ])
  })

  test('has the same report in slices of any number of ids and wallets', async () => {
    const whole = await report()
    const sizes = [
      [1n, 1],
      [4n, 3],
      [5n, 4],
    ] as const
    for (const [size, wallets] of sizes) expect(await report({ size, wallets })).toEqual(whole)
  })

  test('is compared without the values of logs where no node serves logs', async () => {
    const { chain, ranges } = seededChain(rows, { status: () => ({ endpoints: [], halted: false, hasLogs: false }) })
    const found = await audit({ chain, database, log, pauseMs: 1 })
    expect([ranges, found.differences]).toEqual([[], []])
    expect(found.tables.find(({ table }) => table === 'deposits')).toEqual({
      ...{ table: 'deposits', rows: 3, columns: 4, values: 12 },
    })
    expect(found.notCompared[2]).toMatch(
      /^ledger, events \(initialLiquidity, logIndex, .*, positions \(logIndex, .*\): only logs have them, and no node of chain 8453 serves logs$/,
    )
  })

  test('that advances has the blocks of its first and its last slice', async () => {
    const { chain } = seededChain(rows, { head: blockOf(12n) })
    let added: Promise<void> | undefined
    const advancing: Chain = {
      ...chain,
      async send(...sent) {
        added ??= addBlock(blockOf(11n))
        return chain.send(...sent)
      },
    }
    const shown: string[] = []
    const found = await report({ chain: advancing, wallets: 3, onProgress: (line) => shown.push(line) })
    expect(shown).toEqual([
      ...['events', 'deposits', 'positions'].map((what) => `chain 8453: 3 of 3 ${what} compared`),
      ...[11, 14, 14, 17, 17].map((done) => `chain 8453: ${done} lists compared`),
      'chain 8453: 9 rows of the ledger compared',
    ])
    await added
    expect([found.firstBlock, found.block]).toEqual([blockOf(10n), blockOf(11n)])
  })
})

describe('what could not be compared', () => {
  test('has the entities that wait in the refresh queue until the wait is over', async () => {
    await run(`UPDATE deposit_observations SET pending = 5 WHERE id = 2;
      INSERT INTO refresh_queue (chain_id, subject, id) VALUES (${chainId}, 'deposit', 2)`)
    const found = await report({ waitBudgetMs: 2 })
    expect(found.differences).toEqual([])
    expect(found.unconfirmed).toEqual([
      '1 entities still wait to be read again: check that a worker runs, and repeat the audit',
    ])
  })

  test('has the entities with a view that reverts', async () => {
    const found = await report({}, { views: { pendingPremiums: () => new Failure(3, 'execution reverted') } })
    expect(found.differences).toEqual([])
    expect(found.unconfirmed).toEqual(['views of 3 entities revert: check PROFILE_8453 and DIAMOND_ADDRESS_8453'])
  })

  test('has the rows whose logs no node has', async () => {
    const found = await report({}, { lost: [rows.deposits[1]?.fact.txHash] })
    expect(found.differences).toEqual([])
    expect(found.unconfirmed).toEqual([
      'no node has the logs of 1 rows: add a node that keeps all logs to RPC_URLS_8453',
    ])
    expect(found.notCompared).toHaveLength(2)
    expect(found.tables.find(({ table }) => table === 'deposits')?.values).toBe(3 * 4 + 2 * 5)
  })

  test('has no rows that were read without a log, which are named apart', async () => {
    await run('UPDATE deposits SET tx_hash = NULL, log_index = NULL WHERE id < 3')
    const found = await report()
    expect([found.differences, found.unconfirmed]).toEqual([[], []])
    expect(found.notCompared[2]).toBe("the origins of 2 rows: they were read from the chain's state, without a log")
    expect(found.tables.find(({ table }) => table === 'deposits')?.values).toBe(3 * 4 + 5)
  })
})

describe('differences', () => {
  test('are those of rows, of the number of events, of members and of wallets', async () => {
    await run('UPDATE deposits SET amount = 1 WHERE id = 2; UPDATE chain_observations SET paused = true')
    const found = await report(
      {},
      {
        views: {
          getTotalHedgeEvents: () => 4n,
          getEventPositionIds: ([id]) =>
            id === 1n ? [9n] : rows.positions.flatMap(({ fact }) => (fact.eventId === id ? fact.id : [])),
          getCreatorEventIds: () => [3n, 1n],
        },
      },
    )
    expect(found.differences).toEqual([
      'chain_observations 8453: paused is true in the index, false on the chain',
      'chain_observations 8453: totalEvents is 3 in the index, 4 on the chain',
      'getEventPositionIds of 1: [3] in the index, [9] on the chain',
      'the chain counts 4 events but has 3',
      'deposits 2: amount is 1 in the index, 2000 on the chain',
      `getCreatorEventIds of ${walletOf(0)}: [1,2,3] in the index, [1,3] on the chain`,
    ])
    expect(found.found).toBe(6)
  })

  test('are reported up to the limit, and all counted', async () => {
    await run('UPDATE deposits SET shares = 1')
    for (const [maxDifferences, reported] of [
      [2, 2],
      [3, 3],
      [4, 3],
    ] as const) {
      // They are in two slices.
      const { differences, found } = await report({ maxDifferences, size: 2n })
      expect([differences.length, found]).toEqual([reported, 3])
    }
  })

  test('of members are withdrawn when the lists equal the chain at a second reading', async () => {
    let readings = 0
    const getEventDepositIds = ([id]: readonly unknown[]) => {
      if (id === 1n) readings += 1
      return id === 1n && readings === 1
        ? []
        : rows.deposits.flatMap(({ fact }) => (fact.eventId === id ? fact.id : []))
    }
    expect((await report({}, { views: { getEventDepositIds } })).differences).toEqual([])
    expect(readings).toBe(2)
  })

  test('of the ledger are rows without a log, logs without a row, and columns with another value', async () => {
    await run(`UPDATE ledger SET block_number = 3 WHERE deposit_id = 1;
      UPDATE ledger SET wallet = NULL, amount = amount + 1 WHERE position_id = 2`)
    const [deposit, position] = [rows.deposits[0]?.fact, rows.positions[1]?.fact]
    if (deposit === undefined || position === undefined) throw new Error('three rows of each kind are seeded')
    const { differences } = await report({}, { range: 2n })
    expect(differences.toSorted()).toEqual(
      [
        `ledger block ${deposit.blockNumber} log ${deposit.logIndex}: missing in the index`,
        `ledger block 3 log ${deposit.logIndex}: not on the chain`,
        `ledger block ${position.blockNumber} log ${position.logIndex} wallet: null in the index, ${position.hedger.toLowerCase()} on the chain`,
        `ledger block ${position.blockNumber} log ${position.logIndex} amount: ${position.premiumPaid + 1n} in the index, ${position.premiumPaid} on the chain`,
      ].toSorted(),
    )
  })

  test('of the ledger are none where the receipt has the log that a node left out', async () => {
    const { differences } = await report({}, { lost: [rows.positions[2]?.fact.txHash] })
    expect(differences).toEqual([])
  })

  test('of the ledger are none in blocks whose logs are still to be read, which the report names', async () => {
    await run(`DELETE FROM ledger WHERE block_number = 1;
      INSERT INTO log_gaps (chain_id, from_block, to_block, unread_to, ledger_only) VALUES (${chainId}, 0, 2, 1, true)`)
    const { differences, unconfirmed } = await report()
    expect(differences).toEqual([])
    expect(unconfirmed).toEqual([expect.stringMatching(/^the ledger of blocks whose logs are still to be read/)])
    await run('UPDATE log_gaps SET unread_to = 0')
    expect((await report()).differences).toHaveLength(6)
  })

  test('of the ledger are found after blocks whose logs no node has, which the report names', async () => {
    await run('DELETE FROM ledger WHERE block_number = 1')
    const { chain } = seededChain(rows)
    const logs: Chain['logs'] = async (span) => {
      if (span.from < 1n) throw new LogsPruned('pruned', undefined)
      return chain.logs(span)
    }
    const { differences, unconfirmed } = await report({ chain: { ...chain, logs } })
    expect(differences).toHaveLength(6)
    expect(unconfirmed).toEqual([expect.stringMatching(/^the ledger of blocks whose logs .* are pruned/)])
  })

  test('of rows of the last slice add no slice, unless the last id exists', async () => {
    await run('UPDATE events SET strike = strike + 1 WHERE id = 1')
    expect(await report()).toMatchObject({ found: 1, lists: 17 })
  })

  test('of the number of events are not found when its view reverts, which ends the audit', async () => {
    const views = { getTotalHedgeEvents: () => new Failure(3, 'execution reverted') }
    await expect(report({}, { views })).rejects.toThrow('execution reverted')
  })

  test('of fee rates from their logs are found', async () => {
    await run(`INSERT INTO fee_rates SELECT chain_id, block_number, block_hash, block_timestamp, tx_hash, 7, 2, 3, 4, 5
      FROM deposits WHERE id = 1`)
    const { differences } = await report()
    expect(differences).toEqual([
      expect.stringMatching(/^fee_rates of block 1: 2,3,4,5 by log 7 of 0x\w+ in the index, none/),
    ])
  })

  test('include rows after the last one, while these exist on the chain', async () => {
    await run('DELETE FROM positions WHERE id > 1')
    for (const size of [1n, 200n]) {
      const { differences } = await report({ size })
      const lost = differences.filter((it) => it.startsWith('positions'))
      expect(lost).toEqual([2, 3].map((id) => `positions ${id} is missing in the index`))
    }
  })

  test('of fewer events than rows are found too', async () => {
    const { differences } = await report({}, { views: { getTotalHedgeEvents: () => 2n } })
    expect(differences).toContain('the chain counts 2 events but has 3')
  })
})

describe('an index that is not there', () => {
  test('is reported with advice, also when it cannot be there yet', async () => {
    await run('DELETE FROM cursors')
    await expect(report()).rejects.toThrow(
      'chain 8453 is not indexed yet: start a worker and wait until /readyz is 200',
    )
    const deployment = { ...seedDeployment(chainId), startBlock: 99n }
    await expect(report({}, { deployment })).rejects.toThrow('START_BLOCK_8453 is 99, and the newest block')
  })

  test('in part is not compared', async () => {
    await database.transaction((handle) => addAnchor(handle, chainId, blockOf(11n), true))
    await expect(report()).rejects.toThrow('the index of chain 8453 is being built')
  })
})
