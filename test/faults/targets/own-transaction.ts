import { encodeFunctionData } from 'viem'
import { z } from 'zod'
import { protocolAbi } from '../../../src/abi/protocol.generated.ts'
import type { SandboxChain } from '../../../src/sandbox/chain.ts'
import { openIndex } from '../rig.ts'
import { hex } from '../rpc.ts'
import { startApi } from '../service.ts'
import { type Failure, quantile, seconds, type Target } from '../target.ts'
import { createTraffic, type Traffic } from '../traffic.ts'

const CYCLES = 1_000

/** The most deposits that a pool accepts. */
const PER_EVENT = 100

/** How often the worker is frozen while a request waits for a transaction. */
const FREEZE_EVERY = 25
const WAIT_MS = 3_000
const FROZEN_WAIT_MS = 300

/** How often a list is requested again that was not ready. */
const AGAIN = 10

const AMOUNT = 10_000_000n

const Receipt = z.object({ status: z.string() })
const Rows = z.object({ data: z.array(z.object({ createdTx: z.string().nullable() })) })

/**
 * A wallet makes a deposit and requests its list with `afterTx`, alternately from two processes and on both chains at
 * once. Sometimes the worker is frozen, so that the answer cannot arrive in time.
 */
export const ownTransaction: Target = {
  claim: `${CYCLES} times a transaction and then the list with afterTx, on two chains, from two processes`,
  figure: 'each list has it, or is 503 and has it when asked for again',
  async run({ store, chains, seeds: [seed = 1] }) {
    chains.traffic.reseed(seed)
    const index = await openIndex({ store, chains, seed })
    const failures: Failure[] = []
    const took: number[] = []
    const counts = { there: 0, late: 0, absent: 0 }
    try {
      const worker = await index.start('worker')
      const apis = [await startApi(index), await startApi(index)]

      const cycles = async (chain: SandboxChain, traffic: Traffic, times: number): Promise<void> => {
        const [from] = traffic.wallets
        let event = 0n
        for (let cycle = 1; cycle <= times; cycle += 1) {
          if (cycle % PER_EVENT === 1) event = await traffic.createEvent()
          const data = encodeFunctionData({ abi: protocolAbi, functionName: 'deposit', args: [event, AMOUNT] })
          const frozen = chain === chains.chain && cycle % FREEZE_EVERY === 0
          if (frozen) worker.freeze()
          const tx = await traffic.node.send('eth_sendTransaction', [
            { from, to: chain.diamond, data, gas: hex(2_000_000) },
          ])
          await traffic.mine()
          const receipt = await traffic.node.send('eth_getTransactionReceipt', [tx])
          if (Receipt.parse(receipt).status !== '0x1') throw new Error(`chain ${chain.chainId} reverted ${tx}`)
          const wait = frozen ? FROZEN_WAIT_MS : WAIT_MS
          const query = `/v1/hedge/deposits?chainId=${chain.chainId}&wallet=${from}&limit=5&afterTx=${tx}&waitMs=${wait}`
          const ask = async () => {
            const answer = await apis[cycle % 2]?.get(query, { 'accept-encoding': cycle % 4 < 2 ? 'gzip' : 'identity' })
            if (answer === undefined) throw new RangeError('there are two processes')
            const { status, headers, body } = answer
            if (status === 503 && headers.get('retry-after') !== null && /block \d+/.test(body)) return 'late'
            if (status !== 200) return `${status}: ${body.slice(0, 200)}`
            if (headers.get('x-stale') !== null) return 'stale, with a status that does not report it'
            took.push(answer.took)
            return Rows.parse(JSON.parse(body)).data.some(({ createdTx }) => createdTx === tx) ? 'there' : 'absent'
          }
          let outcome = await ask()
          if (frozen) worker.thaw()
          if (outcome === 'late') counts.late += 1
          for (let times = 0; outcome === 'late' && times < AGAIN; times += 1) outcome = await ask()
          if (outcome === 'there') counts.there += 1
          else {
            counts.absent += 1
            failures.push({ seed, what: `chain ${chain.chainId}, ${tx}: ${outcome}` })
          }
        }
      }
      const other = await createTraffic({ chain: chains.quiet, seed })
      await Promise.all([cycles(chains.chain, chains.traffic, CYCLES / 2), cycles(chains.quiet, other, CYCLES / 2)])
      return {
        measured: `${counts.there} lists with it, ${counts.late} of them 503 at first, ${counts.absent} without; p50 ${seconds(quantile(took, 0.5))}, p99 ${seconds(quantile(took, 0.99))} after the block`,
        met: failures.length === 0 && counts.late > 0,
        failures: failures.slice(0, 10),
      }
    } finally {
      await index.close()
    }
  },
}
