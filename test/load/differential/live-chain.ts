import { setTimeout as sleep } from 'node:timers/promises'
import type { ChainId } from '../../../src/protocol/chains.ts'
import { chainVariables, deployOn } from '../../../src/sandbox/chain.ts'
import { startAnvil } from '../../../src/sandbox/parts/anvil.ts'
import { createAccounts } from '../../../src/sandbox/story/accounts.ts'
import { createActions } from '../../../src/sandbox/story/actions.ts'
import { SCENARIO_DAYS } from '../../../src/sandbox/story/scenario.ts'
import { seedScenario } from '../../../src/sandbox/story/seed.ts'
import { startFaultProxy } from '../../faults/proxy.ts'
import { createRpc } from '../../faults/rpc.ts'
import { createTurns } from '../../faults/turns.ts'
import { factsOf } from '../../support/known-chains.ts'

const BLOCK_MS = 1_000

/** One reorg in this many blocks, and the number of newest blocks that it replaces. */
const REORG_EVERY = 25
const REORG_DEPTH = 3

/**
 * A node with the protocol and seeded entities, and a proxy for all readers that separates reads of state from mining.
 * Only `live` mines blocks, so nothing changes before it is called.
 */
export const openLiveChain = async (chainId: ChainId) => {
  const anvil = await startAnvil({
    chainId,
    genesisTimestamp: Math.floor(Date.now() / 1000) - SCENARIO_DAYS * 86_400,
  })
  const accounts = createAccounts()
  const chain = await deployOn(anvil.url, { chainId, ...factsOf(chainId) }, accounts)
  const actions = createActions(chain)
  await seedScenario({ actions, accounts, seed: chainId })
  const turns = createTurns()
  const proxy = await startFaultProxy({ target: anvil.url, seed: chainId, turns })
  const node = createRpc(anvil.url)
  await node.send('evm_setAutomine', [false])

  /** Mines a block at this time, or a second after the newest. */
  const mineAt = async (time: number): Promise<void> => {
    const newest = await node.block(await node.blockNumber())
    await node.send('evm_setNextBlockTimestamp', [Math.max(time, (newest?.timestamp ?? 0) + 1)])
    await node.send('evm_mine')
  }
  const now = (): number => Math.floor(Date.now() / 1000)

  let reorgs = 0
  /** Replaces the blocks after a snapshot by one block more, as one change for all readers. */
  const reorg = async (snapshot: unknown): Promise<void> => {
    proxy.hold()
    try {
      await turns.mine(async () => {
        await node.send('evm_revert', [snapshot])
        for (let left = REORG_DEPTH; left >= 0; left -= 1) await mineAt(now() - left)
      })
      reorgs += 1
    } finally {
      proxy.release()
    }
  }

  /** Mines until the signal aborts. */
  const live = async (signal: AbortSignal): Promise<void> => {
    let snapshot: unknown
    for (let block = 1; !signal.aborted; block += 1) {
      if (block % REORG_EVERY === REORG_EVERY - REORG_DEPTH) snapshot = await node.send('evm_snapshot')
      if (block % REORG_EVERY === 0) await reorg(snapshot)
      else await turns.mine(() => mineAt(now()))
      await sleep(BLOCK_MS)
    }
  }

  return {
    chain,
    accounts,
    actions,
    /** The URL that the product and the check read from. */
    url: proxy.url,
    variables: chainVariables({ ...chain, rpcUrl: proxy.url }),
    head: node.blockNumber,
    live,
    reorgs: () => reorgs,
    async close(): Promise<void> {
      await proxy.close()
      await anvil.close()
    },
  }
}

export type LiveChain = Awaited<ReturnType<typeof openLiveChain>>
