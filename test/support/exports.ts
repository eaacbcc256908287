import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { z } from 'zod'
import { dayOf, endOf } from '../../src/export/days.ts'
import { type ExportOptions, type ExportReport, exportChain } from '../../src/export/export.ts'
import { tableNames } from '../../src/export/tables.ts'
import { createClosers } from '../../src/lib/lifecycle.ts'
import type { ChainId } from '../../src/protocol/chains.ts'
import { createFinality } from '../../src/reads/freshness/finality.ts'
import { startIndexed, type World } from './indexing.ts'

const USDC = 10n ** 6n
const DAY = 86_400

/** Blocks that a chain of the tests needs after one for it to be final. */
export const FINAL_AFTER = 200

/** The name of event 4. */
export const NAME = '=NUL \0, 🌍 and "quotes"'

/** Every kind of payment, on several days; event 2 was settled by `startWorld`, and has one more log two days later. */
const live = async ({ actions, creator, lp, hedger, owner, upward }: World): Promise<void> => {
  await actions.claimPayout(hedger, 4n)
  await actions.withdrawCapital(creator, 2n)
  await actions.claimPremiums(creator, 1n)
  await actions.withdrawCreatorEarnings(creator, 1n)
  await actions.warp((await actions.now()) + DAY)
  await actions.buy(hedger, 1n, 321n * USDC)
  await actions.deposit(lp, 1n, 777n * USDC)
  await actions.createEvent(creator, { ...upward, name: NAME, expiry: (await actions.now()) + DAY })
  await actions.setPool(creator, 4n, true, true)
  await actions.deposit(lp, 4n, 1_000n * USDC)
  await actions.buy(hedger, 4n, 55_555_555n)
  // A day without a log is between.
  await actions.warp((await actions.now()) + 2 * DAY)
  await actions.withdrawCreatorEarnings(creator, 2n)
  await actions.settle(owner, 4n, 12_500_000n)
  await actions.claimPayout(hedger, 6n)
  await actions.withdrawCapital(lp, 7n)
}

/** Makes all blocks of a chain final, and begins a day. */
const passDay = async ({ actions }: World): Promise<void> => {
  await actions.warp(Number(endOf(dayOf(BigInt(await actions.now())))) + 60)
  await actions.node.mine({ blocks: FINAL_AFTER })
}

const Manifest = z.object({
  chainId: z.number(),
  diamond: z.string(),
  files: z.array(
    z.object({
      path: z.string(),
      table: z.enum(tableNames),
      day: z.string(),
      rows: z.number(),
      bytes: z.number(),
      sha256: z.string(),
      firstBlock: z.number().nullable(),
      lastBlock: z.number().nullable(),
      format: z.string(),
    }),
  ),
})

/** The manifest of a chain in the folder of an export, as text and parsed. */
export const manifestText = (folder: string, chainId = 8453) =>
  readFile(join(folder, `manifest-${chainId}.json`), 'utf8')
export const manifestOf = async (folder: string, chainId = 8453) =>
  Manifest.parse(JSON.parse(await manifestText(folder, chainId)))

/**
 * The index of chains with lives on several days, the newest of which is not over, and an export of all final days.
 *
 * @example
 * const exports = await startExports()
 * afterAll(() => exports.close())
 */
export const startExports = async (chainIds: readonly [ChainId, ...ChainId[]] = [8453, 56]) => {
  const closers = createClosers()
  const folders = await mkdtemp(join(tmpdir(), 'fx-exports-'))
  closers.add('folders', folders, () => rm(folders, { recursive: true }))
  const indexed = closers.add('index', await startIndexed(chainIds), (it) => it.close())
  const api = await indexed.open()
  for (const world of indexed.worlds) {
    await live(world)
    await passDay(world)
    // Of a day that is not over.
    await world.actions.createEvent(world.creator, { ...world.upward, expiry: (await world.actions.now()) + 90 * DAY })
  }
  await indexed.quiet()

  /** Exports a chain in small pages and groups. */
  const run = (world: World, folder: string, options: Partial<ExportOptions> = {}): Promise<ExportReport> => {
    const { chains, lists } = api.sources
    const chain = chains.get(world.deployment.chainId)
    if (chain === undefined) throw new Error('the chain is not configured')
    const finality = createFinality(chains)
    return exportChain({
      ...{ chain, sources: { chains, lists, finality, maxLagSeconds: 60 }, database: indexed.database, folder },
      ...{ tables: tableNames, mode: 'export', log: pino({ level: 'silent' }), pageRows: 2, groupRows: 3, ...options },
    })
  }
  const whole = join(folders, 'whole')
  const reports = await Promise.all(indexed.worlds.map((world) => run(world, whole)))
  return {
    indexed,
    api,
    run,
    /** A folder for exports of tests. */
    folders,
    /** The export of all final days of the chains, which no test changes. */
    whole,
    /** Its reports, by the worlds of the index. */
    reports,
    close: closers.close,
  }
}

export type Exports = Awaited<ReturnType<typeof startExports>>
