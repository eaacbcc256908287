import { pino } from 'pino'
import {
  type AbiFunction,
  type AbiParameter,
  type Address,
  concatHex,
  decodeAbiParameters,
  decodeFunctionData,
  deploylessCallViaBytecodeBytecode,
  encodeAbiParameters,
  encodeFunctionResult,
  type Hex,
  numberToHex,
  parseAbiParameters,
  zeroHash,
} from 'viem'
import { balancesAbi } from '../../src/abi/balances.generated.ts'
import { erc20Abi } from '../../src/abi/erc20.generated.ts'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { type Chain, createChain } from '../../src/chain/chain.ts'
import { type Batch, flatten, type Outcomes, unflatten } from '../../src/chain/rpc/batch.ts'
import { NodeError } from '../../src/chain/rpc/errors.ts'
import type { Block, Request } from '../../src/chain/rpc/requests.ts'
import type { Outcome } from '../../src/chain/rpc/transport.ts'
import { createSimulator } from '../../src/chain/simulator.ts'
import { unavailable } from '../../src/lib/errors.ts'
import { functionsOf, ofItem, selectorOf } from '../../src/protocol/abi/contract-function.ts'
import type { Output } from '../../src/protocol/abi/outputs.ts'
import type { Deployment } from '../../src/protocol/chains.ts'
import { factsOf } from './known-chains.ts'

/*
 * A chain for plans, without a node: one wallet, its tokens, and a protocol whose functions do what a test sets. It
 * answers the JSON-RPC requests of the service, so everything above them is the service's own code.
 */

export const DIAMOND: Address = '0x610178dA211FEF7D417bC0e6FeD39F05609AD788'
export const USDC_AT: Address = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
export const DAI_AT: Address = '0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512'
export const WALLET: Address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
export const OTHER: Address = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'

/** Later than any clock, so that the second after it is the time of a plan. */
export const BLOCK: Block = { number: 1_000n, hash: `0x${'b1'.repeat(32)}`, timestamp: 4_000_000_000n }
export const TIME = BLOCK.timestamp + 1n

export const deploymentOf = (chainId: 8453 | 56, more: Partial<Deployment> = {}): Deployment => ({
  ...{ chainId, ...factsOf(chainId), diamond: DIAMOND, usdc: USDC_AT, usdt: null, publicRpcUrl: '', startBlock: 0n },
  profile: 'reference',
  ...more,
})

/** What a call of the protocol does: it reverts with a text, or moves tokens of the wallet and returns a number. */
type Effect = {
  readonly reverts?: string
  /** By token, in its units: positive amounts go to the protocol, negative ones to the wallet. */
  readonly takes?: Readonly<Record<Address, bigint>>
  readonly returns?: bigint
}

/** A view's output by its inputs, as this service names it; one that is left out reverts. */
type Views = { readonly [N in Parameters<typeof nameOf>[0]]?: (id: bigint) => Output<N> }

const nameOf = (name: Extract<(typeof protocolAbi)[number], { stateMutability: 'view' | 'pure' }>['name']) => name

export type World = {
  readonly deployment: Deployment
  /** The balances of the wallet; other addresses do not answer as tokens. */
  readonly balances: Readonly<Record<Address, bigint>>
  /** What the wallet allows the protocol; 0 where it is left out. */
  readonly allowances: Readonly<Record<Address, bigint>>
  /** Tokens that change an allowance only from or to 0. */
  readonly strict: readonly Address[]
  /** Tokens that refuse every approval. */
  readonly refusing: readonly Address[]
  readonly views: Views
  readonly calls: Readonly<Record<string, (args: readonly unknown[], time: bigint) => Effect>>
  /** Gas that a transaction of a function uses; 40,000 where it is left out. */
  readonly gasUsed: Readonly<Record<string, bigint>>
  readonly account: {
    readonly nonce: bigint
    readonly coins: bigint
    readonly code: Hex
    readonly baseFee: bigint
    readonly tip: bigint
  }
  /** Answers of other contracts, such as those of the network; without an answer there is no contract. */
  readonly others: (to: Address, data: Hex) => Hex | undefined
  readonly simulates: boolean
  /** The errors of requests that fail. */
  readonly fails: (request: Request<unknown>) => NodeError | undefined
}

const PLENTY = 2n ** 200n

/** What the protocol has of each token. */
const HELD = 10n ** 30n

const word = (value: bigint): Hex => numberToHex(value, { size: 32 })
const revertData = (reason: string): Hex =>
  concatHex(['0x08c379a0', encodeAbiParameters(parseAbiParameters('string'), [reason])])

/** The functions of the protocol and of tokens by their selectors, which viem would hash again for each call. */
const functions = new Map(
  functionsOf([...protocolAbi, ...erc20Abi]).map((item) => [ofItem(item).selector, ofItem(item)]),
)

/** The function of calldata and its arguments. */
const decode = (data: Hex): { readonly item: AbiFunction; readonly args: readonly unknown[] } => {
  const called = functions.get(selectorOf(data))
  if (called === undefined) throw new TypeError(`no function has the selector of ${data}`)
  return { item: called.item, args: called.decodeArguments(data) }
}

class Reverted extends Error {}

type Sent = { readonly to: Address; readonly data: Hex }

/** Balances while calls run one after the other. */
type Ledger = {
  readonly wallet: Map<Address, bigint>
  readonly protocol: Map<Address, bigint>
  allowed: Map<Address, bigint>
}

const copyOf = ({ wallet, protocol, allowed }: Ledger): Ledger => ({
  wallet: new Map(wallet),
  protocol: new Map(protocol),
  allowed: new Map(allowed),
})

const add = (to: Map<Address, bigint>, token: Address, amount: bigint): void =>
  void to.set(token, (to.get(token) ?? 0n) + amount)

/** Runs a call of a token of which the wallet holds this much; throws Reverted. */
const runToken = ({ strict, refusing }: World, ledger: Ledger, { to, data }: Sent, held: bigint): Hex => {
  const { item, args } = decode(data)
  const [of, amount] = args as readonly [Address, bigint]
  if (item.name === 'balanceOf') return word((of === DIAMOND ? ledger.protocol.get(to) : held) ?? 0n)
  if (item.name === 'transfer') {
    if (held < amount) throw new Reverted('ERC20: transfer amount exceeds balance')
    return word(1n)
  }
  if (item.name !== 'approve' || refusing.includes(to)) throw new Reverted('not part of this token')
  if (strict.includes(to) && amount !== 0n && ledger.allowed.get(to)) throw new Reverted('approve from 0 only')
  ledger.allowed.set(to, amount)
  return word(1n)
}

/** What a view returns. */
const encodeOutput = ({ outputs }: AbiFunction, answer: unknown): Hex => {
  const named = ({ name = '' }: AbiParameter) => (answer as Readonly<Record<string, unknown>>)[name]
  return encodeAbiParameters(outputs, outputs.length === 1 ? [answer] : outputs.map(named))
}

/** Runs one call; throws Reverted. */
const run = (world: World, ledger: Ledger, sent: Sent, time: bigint): Hex => {
  const { to, data } = sent
  const { wallet, protocol, allowed } = ledger
  const held = wallet.get(to)
  if (held !== undefined) return runToken(world, ledger, sent, held)
  if (to !== world.deployment.diamond) return world.others(to, data) ?? '0x'
  const { item, args } = decode(data)
  const view = (world.views as Record<string, ((...args: readonly unknown[]) => unknown) | undefined>)[item.name]
  if (view !== undefined) return encodeOutput(item, view(...args))
  const call = world.calls[item.name]
  if (call === undefined) throw new Reverted('')
  const { reverts, takes = {}, returns } = call(args, time)
  if (reverts !== undefined) throw new Reverted(reverts)
  for (const [token, amount] of Object.entries(takes) as [Address, bigint][]) {
    if (amount > (wallet.get(token) ?? 0n)) throw new Reverted('ERC20: transfer amount exceeds balance')
    if (amount > (allowed.get(token) ?? 0n)) throw new Reverted('ERC20: insufficient allowance')
    if (amount > 0n) add(allowed, token, -amount)
    add(wallet, token, -amount)
    add(protocol, token, amount)
  }
  return returns === undefined ? '0x' : word(returns)
}

const textOf = (error: unknown): string => {
  if (error instanceof Reverted) return error.message
  throw error
}

/** The result of `eth_simulateV1`. */
const simulated = (world: World, start: Ledger, [block]: readonly unknown[]) => {
  const { blockOverrides, stateOverrides, calls } = (
    block as {
      blockStateCalls: [
        {
          blockOverrides: { time: Hex }
          stateOverrides: Record<Address, object>
          calls: readonly { to: Address; data: Hex }[]
        },
      ]
    }
  ).blockStateCalls[0]
  let ledger = copyOf(start)
  for (const token of Object.keys(stateOverrides) as Address[]) ledger.wallet.set(token, PLENTY)
  const results = calls.map((call) => {
    const next = copyOf(ledger)
    const gasUsed = numberToHex(world.gasUsed[decode(call.data).item.name] ?? 40_000n)
    try {
      const returnData = run(world, next, call, BigInt(blockOverrides.time))
      ledger = next
      return { status: '0x1', returnData, gasUsed }
    } catch (error) {
      return { status: '0x0', returnData: revertData(textOf(error)), gasUsed }
    }
  })
  return [{ calls: results }]
}

/** The answer to the service's read of balances and allowances. */
const balancesRead = (ledger: Ledger, data: Hex): Hex => {
  const [, call] = decodeAbiParameters(
    parseAbiParameters('bytes, bytes'),
    `0x${data.slice(deploylessCallViaBytecodeBytecode.length)}`,
  )
  const [, wallets, pairs] = decodeFunctionData({ abi: balancesAbi, data: call }).args
  const amountsOf = (held: Map<Address, bigint>) =>
    pairs.map(({ token }) => ({ isKnown: ledger.wallet.has(token), value: held.get(token) ?? 0n }))
  return encodeFunctionResult({
    ...{ abi: balancesAbi, functionName: 'read' },
    result: [wallets.map(() => 0n), amountsOf(ledger.wallet), amountsOf(ledger.allowed)],
  } as never)
}

/** The raw answer to a request; throws NodeError. */
const answer = (world: World, ledger: Ledger, { method, params }: Request<unknown>): unknown => {
  const { account } = world
  if (method === 'eth_simulateV1') return simulated(world, ledger, params)
  if (method === 'eth_getTransactionCount') return numberToHex(account.nonce)
  if (method === 'eth_getBalance') return numberToHex(account.coins)
  if (method === 'eth_getCode') return account.code
  if (method === 'eth_maxPriorityFeePerGas') return numberToHex(account.tip)
  if (method === 'eth_getBlockByHash') return { baseFeePerGas: numberToHex(account.baseFee) }
  if (method !== 'eth_call') throw new TypeError(`no answer to ${method}`)
  const { to, data } = params[0] as { to?: Address; data: Hex }
  if (to === undefined) return balancesRead(ledger, data)
  try {
    return run(world, copyOf(ledger), { to, data }, BLOCK.timestamp)
  } catch (error) {
    const reason = textOf(error)
    throw new NodeError({ code: 3, message: `execution reverted: ${reason}`, data: revertData(reason) })
  }
}

const plain: World = {
  deployment: deploymentOf(8453),
  balances: { [USDC_AT]: 0n },
  allowances: {},
  strict: [],
  refusing: [],
  views: {},
  calls: {},
  gasUsed: {},
  account: { nonce: 7n, coins: 10n ** 18n, code: '0x', baseFee: 100n, tip: 3n },
  others: () => undefined,
  simulates: true,
  fails: () => undefined,
}

/** Opens the chain of a world. `sent` has the requests that were sent, by batch. */
export const planChain = (chosen: Partial<World> = {}): { chain: Chain; sent: Request<unknown>[][] } => {
  const world = { ...plain, ...chosen }
  const { deployment } = world
  const ledger: Ledger = {
    wallet: new Map(Object.entries(world.balances) as [Address, bigint][]),
    protocol: new Map(Object.keys(world.balances).map((token) => [token as Address, HELD])),
    allowed: new Map(Object.entries(world.allowances) as [Address, bigint][]),
  }
  const sent: Request<unknown>[][] = []
  const outcomeOf = (request: Request<unknown>): Outcome<unknown> => {
    try {
      const failure = world.fails(request)
      if (failure !== undefined) throw failure
      return { ok: true, value: request.parse(answer(world, ledger, request)) }
    } catch (error) {
      if (error instanceof NodeError) return { ok: false, error }
      throw error
    }
  }
  const send = async <const B extends Batch>(batch: B): Promise<Outcomes<B>> => {
    const requests = flatten<Request<unknown>>(batch)
    sent.push(requests)
    if (!world.simulates && requests.some(({ method, params }) => method === 'eth_simulateV1' || params.length > 2))
      throw unavailable('no node has the method')
    return unflatten(batch, requests.map(outcomeOf))
  }
  // No request is sent to this node.
  const opened = createChain({
    ...{
      deployment,
      rpcUrls: ['http://127.0.0.1:1'],
      timeoutMs: 1_000,
      headMaxAgeMs: 1_000,
      log: pino({ level: 'silent' }),
    },
  })
  return {
    sent,
    chain: {
      ...opened,
      ...createSimulator({ send }, opened),
      send,
      pinned: (read) => read(BLOCK),
      ampleBalances: async (tokens) =>
        Object.fromEntries(
          tokens.filter((token) => ledger.wallet.has(token)).map((token) => [token, { [zeroHash]: word(PLENTY) }]),
        ),
    },
  }
}

const ofEvent = { strike: 12_000_000n, initialRate: 10_000_000n, strikeAbove: true }

/** Event 5 of `OTHER`, which is open and expires a day after the plan. */
export const core: Output<'getHedgeEventCore'> = {
  ...{ ...ofEvent, id: 5n, creator: OTHER, name: 'Cedi', underlying: 'USD/GHS', premiumRate: 20_000n },
  ...{ expiryDate: TIME + 86_400n, status: 0, poolOpen: true, allowExternalLp: true },
}

export const range: Output<'getHedgeEventRange'> = { ...ofEvent, payoutCap: 13_000_000n }

export const stats: Output<'getHedgeEventStats'> = {
  ...{ settlementPrice: 0n, triggered: false, settledAt: 0n, creatorEarnings: 0n, totalLiquidity: 0n },
  ...{ totalExposure: 0n, totalPremiums: 0n, lpCount: 0n, hedgerCount: 0n, totalMaxPayout: 0n },
}

/** Position 9 of the wallet in the event, whose payout of 1,000 units can be claimed. */
export const position: Output<'getHedgePosition'> = {
  ...{ id: 9n, eventId: 5n, hedger: WALLET, notional: 10_000n, premiumPaid: 200n, platformFeePaid: 2n },
  ...{ payoutAmount: 1_000n, status: 4, claimed: false },
}

/** Deposit 3 of the wallet in the event. */
export const deposit: Output<'getHedgeLpDeposit'> = {
  ...{ id: 3n, eventId: 5n, lp: WALLET, amount: 5_000n, shares: 5_000n },
  ...{ premiumsEarned: 40n, premiumsClaimed: 0n, withdrawn: false },
}

export const feeConfig: Output<'getHedgeFeeConfig'> = {
  ...{ eventCreationFee: 50n, hedgerFeeRate: 10_000n, hedgerPayoutFeeRate: 20_000n },
  ...{ lpProfitFeeRate: 30_000n, creatorLoyaltyRate: 40_000n },
}
