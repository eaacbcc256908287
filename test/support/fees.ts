import { asc, eq, sql } from 'drizzle-orm'
import { createWalletClient, encodeFunctionData, type Hex, http, parseEventLogs, zeroHash } from 'viem'
import { deployedLogsAbi, protocolAbi } from '../../src/abi/protocol.generated.ts'
import type { Database } from '../../src/db/pool.ts'
import { feeRateOf } from '../../src/db/queries/rows.ts'
import { cursors } from '../../src/db/schema/index-state.ts'
import { feeRates } from '../../src/db/schema/records.ts'
import type { Wallet } from '../../src/sandbox/story/accounts.ts'
import type { NewEvent } from '../../src/sandbox/story/actions.ts'
import { ownerCalls } from './owner-calls.ts'
import type { startWorld } from './world.ts'

type World = Awaited<ReturnType<typeof startWorld>>
/** The rates of the hedger's fee, of payouts, of premiums, and of the creator's part. */
type Rates = readonly [hedger: bigint, payout: bigint, premiums: bigint, loyalty: bigint]

const logAbi = [...protocolAbi, ...deployedLogsAbi]

/** Calls that change fees or create events, alone or with others in one block. */
export const feeActions = (world: World) => {
  const { actions, owner, deployment } = world
  const { write } = ownerCalls(world)

  /** Sends transactions of different wallets that are mined in one block, in this order. */
  const inOneBlock = async (sent: readonly (readonly [Wallet, Hex])[]): Promise<void> => {
    await actions.node.setAutomine(false)
    const hashes: Hex[] = []
    for (const [at, [{ account }, data]] of sent.entries()) {
      // The node orders by priority fee.
      const maxPriorityFeePerGas = BigInt(sent.length - at) * 1_000_000_000n
      const fees = { gas: 5_000_000n, maxFeePerGas: 100_000_000_000n, maxPriorityFeePerGas }
      const wallet = createWalletClient({ account, transport: http(world.anvil.url) })
      hashes.push(await wallet.sendTransaction({ chain: null, to: deployment.diamond, data, ...fees }))
    }
    await actions.node.mine({ blocks: 1 })
    await actions.node.setAutomine(true)
    for (const [at, hash] of hashes.entries()) {
      const { status, transactionIndex } = await actions.client.getTransactionReceipt({ hash })
      if (status !== 'success' || transactionIndex !== at) throw new Error(`transaction ${at} is not in its place`)
    }
  }

  const feesData = (rates: Rates): Hex =>
    encodeFunctionData({ abi: protocolAbi, functionName: 'initializeHedgeFees', args: [1_000_000n, ...rates] })

  const eventData = ({ expiry, ...rest }: NewEvent): Hex => {
    const unsigned = { signature: '0x', quoteTimestamp: 0n, quoteNonce: zeroHash } as const
    const args = [{ ...rest, expiryDate: BigInt(expiry), ...unsigned }] as const
    return encodeFunctionData({ abi: protocolAbi, functionName: 'createEvent', args })
  }

  return {
    setFees: (rates: Rates) => write('initializeHedgeFees', [1_000_000n, ...rates]),
    /** Changes the fees in the block of a new event, after the event or before it. */
    inEventsBlock: (rates: Rates, event: NewEvent, order: 'after' | 'before') => {
      const both = [
        [world.creator, eventData(event)],
        [owner, feesData(rates)],
      ] as const
      return inOneBlock(order === 'after' ? both : both.toReversed())
    },
    /** The rates that each event kept, by the order of all logs on the chain. */
    async ratesOnChain(): Promise<Map<bigint, Record<(typeof rateNames)[number], bigint>>> {
      const logs = await actions.client.getLogs({ address: deployment.diamond, fromBlock: 0n })
      const found = new Map<bigint, Record<(typeof rateNames)[number], bigint>>()
      let now: Record<(typeof rateNames)[number], bigint> | undefined
      for (const log of parseEventLogs({ abi: logAbi, logs })) {
        if (log.eventName === 'FeesInitialized') {
          const { hedgerFeeRate, hedgerPayoutFeeRate, lpProfitFeeRate, creatorLoyaltyRate } = log.args
          now = { hedgerFeeRate, payoutFeeRate: hedgerPayoutFeeRate, lpProfitFeeRate, creatorLoyaltyRate }
        }
        const isEvent = log.eventName === 'EventCreated' || log.eventName === 'HedgeEventCreated'
        if (isEvent && now !== undefined) found.set(log.args.eventId, now)
      }
      return found
    },
  }
}

const rateNames = ['hedgerFeeRate', 'payoutFeeRate', 'lpProfitFeeRate', 'creatorLoyaltyRate'] as const

/** The rates of each event by the index, as reads join them; null where they are unknown. */
export const ratesInIndex = async (database: Database, chainId: number) => {
  const columns = rateNames.map((name) => `'${name}', ${feeRateOf(name)}::text`).join()
  // Each event has at least its creator's deposit.
  const { rows } = await database.run((handle) =>
    handle.execute<{ id: string; rates: Readonly<Record<string, string | null>> }>(
      sql`SELECT f.event_id AS id, json_build_object(${sql.raw(columns)}) AS rates FROM deposits f WHERE chain_id = ${chainId} ORDER BY f.id`,
    ),
  )
  return new Map(
    rows.map(({ id, rates }) => {
      const parsed = Object.entries(rates).map(([name, rate]) => [name, rate === null ? null : BigInt(rate)])
      return [BigInt(id), parsed.some(([, rate]) => rate === null) ? null : Object.fromEntries(parsed)]
    }),
  )
}

/** The stored rates, and the blocks up to which they and the facts are complete. */
export const storedFees = (database: Database, chainId: number) =>
  database.snapshot(async (handle) => {
    const [cursor] = await handle.select().from(cursors).where(eq(cursors.chainId, chainId))
    const stored = handle.select().from(feeRates).where(eq(feeRates.chainId, chainId))
    const rows = await stored.orderBy(asc(feeRates.blockNumber), asc(feeRates.logIndex))
    return { upTo: cursor?.feesNumber ?? null, hash: cursor?.feesHash ?? null, cursor: cursor?.blockNumber, rows }
  })
