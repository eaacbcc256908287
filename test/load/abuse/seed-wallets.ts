import { type Address, encodeFunctionData, type Hex, maxUint256 } from 'viem'
import { z } from 'zod'
import { erc20Abi } from '../../../src/abi/erc20.generated.ts'
import { protocolAbi } from '../../../src/abi/protocol.generated.ts'
import type { Chains } from '../../faults/rig.ts'
import { hex } from '../../faults/rpc.ts'
import { chunks } from '../../faults/target.ts'
import { walletOf } from '../../support/seed-index.ts'
import { BURNERS, burnerOf, codeOf } from './burners.ts'

type Call = { readonly from: Address; readonly to: Address; readonly data: Hex; readonly gas: number }

/** The amount of every row: ten tokens, which every deployment accepts. */
const AMOUNT = 10_000_000n

/** The capital of each event, so that its pool has capacity for all rows. */
const CAPITAL = 10n ** 13n
const WEI = 10n ** 24n

/** Below the most positions of an event. */
const ROWS_PER_EVENT = 400

/** Every fifth row of a wallet is a deposit, the others are positions. */
const PER_DEPOSIT = 5

const GAS = 2_000_000
const REVERTED_GAS = 16_000_000
/** Reverted transactions in one block: a node that traces one executes those before it. */
const REVERTED_PER_BLOCK = 8

/** The gas of a block, which is also the most that a node spends on one call. */
export const BLOCK_GAS = 60_000_000

/** The number of wallets, of rows of each wallet, and of reverted transactions that use 16 M gas. */
export type Size = { readonly wallets: number; readonly rows: number; readonly reverted: number }

/** The seeded entities. */
type Seeded = {
  readonly wallets: readonly Address[]
  readonly events: readonly number[]
  readonly reverted: readonly Hex[]
}

/** Gives wallets their rows, deploys the contracts that burn gas, and mines the reverted transactions. */
export const seedWallets = async ({ chain, traffic }: Chains, { wallets: count, rows, reverted }: Size) => {
  const { node, turns } = traffic
  const [token] = chain.tokens
  if (token === undefined) throw new RangeError('the chain has no payment token')
  const wallets = Array.from({ length: count }, (_, at) => walletOf(at))

  const ask = async (method: string, list: readonly (readonly unknown[])[]): Promise<unknown[]> => {
    const answers = await node.batch(list.map((params) => ({ method, params })))
    for (const { error } of answers) if (error !== undefined) throw new Error(`${method}: ${error.message}`)
    return answers.map(({ result }) => result)
  }
  // The node executes a batch in parallel, so it cannot be left to it to number the transactions of a wallet.
  const nonces = new Map<Address, number>()
  const numbered = (call: Call) => {
    const nonce = nonces.get(call.from) ?? 0
    nonces.set(call.from, nonce + 1)
    return { ...call, gas: hex(call.gas), nonce: hex(nonce) }
  }
  const submit = async (calls: readonly Call[]): Promise<Hex[]> => {
    const hashes: unknown[] = []
    for (const some of chunks(calls, 200)) {
      hashes.push(
        ...(await ask(
          'eth_sendTransaction',
          some.map((call) => [numbered(call)]),
        )),
      )
      await turns.mine(() => node.send('evm_mine'))
    }
    return hashes.map((hash) => z.templateLiteral(['0x', z.string()]).parse(hash))
  }
  const ofToken = (from: Address, data: Hex): Call => ({ from, to: token.address, data, gas: GAS })
  const ofDiamond = (from: Address, data: Hex): Call => ({ from, to: chain.diamond, data, gas: GAS })
  const deposit = (event: bigint, amount: bigint): Hex =>
    encodeFunctionData({ abi: protocolAbi, functionName: 'deposit', args: [event, amount] })
  const purchase = (event: bigint): Hex =>
    encodeFunctionData({
      ...{ abi: protocolAbi, functionName: 'buyProtection' },
      args: [event, AMOUNT, maxUint256, maxUint256],
    })

  await node.send('anvil_autoImpersonateAccount', [true])
  await ask(
    'anvil_setBalance',
    wallets.map((wallet) => [wallet, hex(WEI)]),
  )
  await ask(
    'anvil_setCode',
    Array.from({ length: BURNERS }, (_, at) => [burnerOf(at), codeOf(at)]),
  )
  const mint = (to: Address): Hex =>
    encodeFunctionData({ abi: erc20Abi, functionName: 'mint', args: [to, CAPITAL * 100n] })
  const approve = encodeFunctionData({
    ...{ abi: erc20Abi, functionName: 'approve' },
    args: [chain.diamond, maxUint256],
  })
  await submit(wallets.flatMap((from) => [ofToken(from, mint(from)), ofToken(from, approve)]))
  const events: bigint[] = []
  for (let at = 0; at < Math.ceil((count * rows) / ROWS_PER_EVENT); at += 1) events.push(await traffic.createEvent())
  const [first] = wallets
  if (first === undefined) throw new RangeError('no wallets')
  await submit(events.map((event) => ofDiamond(first, deposit(event, CAPITAL))))
  await submit(
    Array.from({ length: count * rows }, (_, at) => {
      const row = Math.floor(at / count)
      const event = events[at % events.length] ?? 0n
      return ofDiamond(wallets[at % count] ?? first, row % PER_DEPOSIT === 0 ? deposit(event, AMOUNT) : purchase(event))
    }),
  )
  const hashes: Hex[] = []
  for (let at = 0; at < reverted; at += REVERTED_PER_BLOCK) {
    const calls = Array.from({ length: Math.min(REVERTED_PER_BLOCK, reverted - at) }, (_, nth) => ({
      ...{ from: first, to: burnerOf(0), gas: REVERTED_GAS },
      data: hex(at + nth + 1),
    }))
    hashes.push(...(await submit(calls.map((call) => ({ ...call, data: `0x${call.data.slice(2).padStart(8, '0')}` })))))
  }
  await node.send('anvil_autoImpersonateAccount', [false])
  await node.send('evm_setBlockGasLimit', [hex(BLOCK_GAS)])
  await traffic.toPresent()
  return { wallets, events: events.map(Number), reverted: hashes } satisfies Seeded
}
