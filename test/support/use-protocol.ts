import {
  type Address,
  BaseError,
  type ContractFunctionArgs,
  type ContractFunctionName,
  createTestClient,
  decodeErrorResult,
  decodeEventLog,
  encodeDeployData,
  encodeFunctionData,
  getAddress,
  type Hex,
  http,
  isHex,
  maxUint256,
  parseAbi,
  publicActions,
  walletActions,
  zeroHash,
} from 'viem'
import { afterEach, beforeEach } from 'vitest'
import { erc20Abi } from '../../src/abi/erc20.generated.ts'
import { deployedLogsAbi, protocolAbi } from '../../src/abi/protocol.generated.ts'
import { call, type Output, type ReadName } from '../../src/protocol/abi/outputs.ts'
import type { Deployment } from '../../src/protocol/chains.ts'
import type { ProfileName } from '../../src/protocol/profiles.ts'
import { artifact, deployProtocol } from '../../src/sandbox/deploy.ts'
import { startAnvil } from '../../src/sandbox/parts/anvil.ts'
import { createAccounts } from '../../src/sandbox/story/accounts.ts'
import { factsOf } from './known-chains.ts'
import { receiptOf } from './receipt.ts'

type Abi = typeof protocolAbi
export type WriteName = ContractFunctionName<Abi, 'nonpayable'>
export type WriteArgs<N extends WriteName> = ContractFunctionArgs<Abi, 'nonpayable', N>
export type NewEvent = WriteArgs<'createEvent'>[0]
type ReadArgs<N extends ReadName> =
  ContractFunctionArgs<Abi, 'view' | 'pure', N> extends readonly []
    ? []
    : [ContractFunctionArgs<Abi, 'view' | 'pure', N>]

const CHAIN_ID = 8453
export const USDC = 10n ** 6n
export const DAI = 10n ** 18n
export const DAY = 86_400n

/** Different from each other, so that a test notices a swapped rate. */
export const fees = {
  creationFee: 5n * USDC,
  hedgerFeeRate: 5_000n,
  payoutFeeRate: 10_000n,
  lpProfitFeeRate: 20_000n,
  creatorLoyaltyRate: 100_000n,
}

const GAS = 20_000_000n
const logAbi = [...protocolAbi, ...deployedLogsAbi, ...erc20Abi]

/** A log as its name and arguments. */
const decoded = (log: { data: Hex; topics: [] | [Hex, ...Hex[]] }): readonly [string, unknown] => {
  const { eventName, args } = decodeEventLog({ abi: logAbi, ...log })
  return [eventName, args]
}

const errorAbi = parseAbi([
  'error Error(string)',
  'error Panic(uint256)',
  'error SafeERC20FailedOperation(address token)',
])

/** The text in a revert's bytes or its error's name, `panic 17` for an overflow, `no reason` for none. */
export const revertOf = (data: Hex): string => {
  if (data === '0x') return 'no reason'
  const { errorName, args } = decodeErrorResult({ abi: errorAbi, data })
  if (errorName === 'Panic') return `panic ${args[0]}`
  return errorName === 'Error' ? args[0] : errorName
}

/** The same of a failed call. Rethrows any error that is not a revert. */
const revertText = (error: unknown): string => {
  const found = error instanceof BaseError ? error.walk((cause) => cause instanceof Error && 'data' in cause) : null
  if (found === null || !('data' in found)) throw error
  const data = found.data ?? '0x'
  if (!isHex(data)) throw error
  return revertOf(data)
}

/** Starts a node with the protocol. It ends with this process. */
const prepareProtocol = async (profile: ProfileName) => {
  const anvil = await startAnvil({ chainId: CHAIN_ID })
  const client = createTestClient({
    mode: 'anvil',
    transport: http(anvil.url, { batch: { wait: 0 }, retryCount: 0, timeout: 30_000 }),
    cacheTime: 0,
  })
    .extend(publicActions)
    .extend(walletActions)

  const accounts = createAccounts()
  const wallets = [accounts.owner, ...accounts.oracles, ...accounts.users, ...accounts.extras]
  const person = (index: number): Address => {
    const wallet = wallets[index]
    if (wallet === undefined) throw new Error(`there is no account ${index}`)
    return wallet.account.address
  }
  const people = {
    owner: person(0),
    oracleA: person(1),
    oracleB: person(2),
    oracleC: person(3),
    creator: person(4),
    lp: person(5),
    secondLp: person(6),
    hedger: person(7),
    secondHedger: person(8),
    stranger: person(9),
    oracleAdmin: person(10),
    heir: person(11),
  }

  const deployed = await deployProtocol({
    rpcUrl: anvil.url,
    profile,
    account: accounts.owner.account,
    paymentTokens: [
      { symbol: 'USDC', name: 'USD Coin', decimals: 6 },
      { symbol: 'DAI', name: 'Dai', decimals: 18 },
    ],
    oracles: [people.oracleA, people.oracleB, people.oracleC],
    oracleAdmin: people.oracleAdmin,
    fees,
  })
  const diamond = getAddress(deployed.diamond)
  const token = (symbol: string): Address => {
    const address = deployed.tokens[symbol]
    if (address === undefined) throw new Error(`no ${symbol} was deployed`)
    return getAddress(address)
  }
  const usdc = token('USDC')
  const dai = token('DAI')
  const deployment: Deployment = {
    chainId: CHAIN_ID,
    ...factsOf(CHAIN_ID),
    diamond,
    usdc,
    usdt: null,
    publicRpcUrl: 'https://base.example/rpc',
    startBlock: 0n,
    profile,
  }
  const names = new Map<Address, string>([
    ...Object.entries(people).map(([name, address]) => [address, name] as const),
    [diamond, 'diamond'],
  ])

  const now = async (): Promise<bigint> => (await client.getBlock()).timestamp

  /** The next block has this time. */
  const at = (timestamp: bigint): Promise<void> => client.setNextBlockTimestamp({ timestamp })

  /** Mines a block with this time; later calls read at it. */
  const mineAt = async (timestamp: bigint): Promise<void> => {
    await at(timestamp)
    await client.mine({ blocks: 1 })
  }

  const balance = (of: Address, in_: Address = usdc, blockNumber?: bigint): Promise<bigint> =>
    client.readContract({
      address: in_,
      abi: erc20Abi,
      functionName: 'balanceOf',
      args: [of],
      ...(blockNumber === undefined ? {} : { blockNumber }),
    })

  /** Sends calldata from an account whose key the node has; resolves when it is mined, throws when it reverted. */
  const transact = async (from: Address, to: Address, data: Hex, value = 0n) => {
    const hash = await client.sendTransaction({ account: from, to, data, value, gas: GAS, chain: null })
    const receipt = await receiptOf(client, hash)
    if (receipt.status !== 'success') {
      const reason = await client.call({ account: from, to, data, value }).then(() => 'nothing', revertText)
      throw new Error(`reverted with: ${reason}`)
    }
    const { blockNumber } = receipt
    return {
      gasUsed: receipt.gasUsed,
      logs: receipt.logs.map(decoded),
      /** The changes of token balances since the block before, by account name. */
      moved: async (in_: Address = usdc): Promise<Record<string, bigint>> => {
        const changes = await Promise.all(
          [...names].map(async ([address, name]) => {
            const [before, after] = await Promise.all([
              balance(address, in_, blockNumber - 1n),
              balance(address, in_, blockNumber),
            ])
            return [name, after - before] as const
          }),
        )
        const sum = changes.reduce((total, [, change]) => total + change, 0n)
        if (sum !== 0n) throw new Error(`${sum} units moved to or from an unknown account`)
        return Object.fromEntries(changes.filter(([, change]) => change !== 0n))
      },
      /** When it was mined. */
      time: async (): Promise<bigint> => (await client.getBlock({ blockNumber })).timestamp,
    }
  }

  const encode = <N extends WriteName>(functionName: N, args: WriteArgs<N>): Hex =>
    encodeFunctionData({ abi: protocolAbi, functionName, args } as never)

  const send = <N extends WriteName>(from: Address, name: N, args: WriteArgs<N>) =>
    transact(from, diamond, encode(name, args))

  const read = async <N extends ReadName>(name: N, ...args: ReadArgs<N>): Promise<Output<N>> => {
    const view = call(name, ...(args as never))
    return view.decode((await client.call({ to: diamond, data: view.data })).data ?? '0x')
  }

  /** The revert reason of a call at the newest block; `success` if it does not revert. */
  const simulate = (from: Address, to: Address, data: Hex): Promise<string> =>
    client.call({ account: from, to, data, gas: GAS }).then(() => 'success', revertText)

  const outcome = <N extends WriteName>(from: Address, name: N, args: WriteArgs<N>): Promise<string> =>
    simulate(from, diamond, encode(name, args))

  /** Throws unless the call reverts with exactly this text. */
  const refuses = async <N extends WriteName>(text: string, from: Address, name: N, args: WriteArgs<N>) => {
    const found = await outcome(from, name, args)
    if (found !== text) throw new Error(`${name}: expected "${text}", found "${found}"`)
  }

  const onToken = (functionName: 'mint' | 'approve', to: Address, value: bigint): Hex =>
    encodeFunctionData({ abi: erc20Abi, functionName, args: [to, value] })
  const approve = (from: Address, value: bigint, in_: Address = usdc) =>
    transact(from, in_, onToken('approve', diamond, value))
  const mint = (to: Address, value: bigint, in_: Address = usdc) =>
    transact(people.owner, in_, onToken('mint', to, value))

  /** The protocol's logs in a block, by name and arguments. */
  const logsAt = async (blockNumber: bigint) =>
    (await client.getLogs({ address: diamond, fromBlock: blockNumber, toBlock: blockNumber })).map(decoded)

  /** Sends calls that one block holds, in this order; throws when one reverts. */
  const inOneBlock = async <N extends WriteName>(calls: readonly (readonly [Address, N, WriteArgs<N>])[]) => {
    await client.setAutomine(false)
    const hashes: Hex[] = []
    for (const [at, [from, name, args]] of calls.entries()) {
      // Falling fees, since a block orders by them.
      const fees = { maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 10n - BigInt(at) }
      const data = encode(name, args)
      hashes.push(
        await client.sendTransaction({ account: from, to: diamond, data, gas: GAS / 4n, chain: null, ...fees }),
      )
    }
    await client.mine({ blocks: 1 })
    await client.setAutomine(true)
    const receipts = await Promise.all(hashes.map((hash) => receiptOf(client, hash)))
    if (new Set(receipts.map(({ blockNumber }) => blockNumber)).size !== 1) throw new Error('not in one block')
    if (receipts.some(({ status }) => status !== 'success')) throw new Error('one of the calls reverted')
  }

  /** Creates a contract from its artifact and returns its address. */
  const deploy = async (name: string, args: readonly unknown[] = []): Promise<Address> => {
    const data = encodeDeployData({ ...artifact(name), args })
    const hash = await client.sendTransaction({ account: people.owner, data, gas: GAS, chain: null })
    const { contractAddress } = await receiptOf(client, hash)
    if (!contractAddress) throw new Error(`${hash} created no contract`)
    return getAddress(contractAddress)
  }

  const { creator, lp, secondLp, hedger, secondHedger, oracleAdmin } = people
  for (const rich of [creator, lp, secondLp, hedger, secondHedger]) {
    await mint(rich, 10_000_000n * USDC)
    await mint(rich, 10_000_000n * DAI, dai)
    await approve(rich, maxUint256)
    await approve(rich, maxUint256, dai)
  }

  let unused = await client.snapshot()
  let start = 0n
  /** Ends what an earlier file did, and moves the clock to the present. Returns the time, in Unix seconds. */
  const restore = async (): Promise<bigint> => {
    await client.revert({ id: unused })
    unused = await client.snapshot()
    // A file that mined blocks in intervals leaves a node that mines no transaction.
    await client.setAutomine(true)
    const [last, present] = [await now(), BigInt(Math.floor(Date.now() / 1_000))]
    await mineAt(present > last ? present : last + 1n)
    start = await now()
    return start
  }

  /** The arguments of an upward event with a range, 30 days long. A test overrides the ones it needs. */
  const newEvent = (chosen: Partial<NewEvent> = {}): NewEvent => ({
    name: 'Cedi, upward',
    underlying: 'USD/GHS',
    strike: 12_000_000n,
    payoutCap: 13_500_000n,
    premiumRate: 23_000n,
    expiryDate: start + 30n * DAY,
    allowExternalLp: true,
    initialLiquidity: 10_000n * USDC,
    initialRate: 11_400_000n,
    strikeAbove: true,
    paymentToken: usdc,
    signature: '0x',
    quoteTimestamp: 0n,
    quoteNonce: zeroHash,
    ...chosen,
  })

  /** Creates an event and returns its id. */
  const create = async (chosen: Partial<NewEvent> = {}): Promise<bigint> => {
    await send(creator, 'createEvent', [newEvent(chosen)])
    return read('getTotalHedgeEvents')
  }

  /** Buys protection at any cost. */
  const buy = (from: Address, eventId: bigint, notional: bigint) =>
    send(from, 'buyProtection', [eventId, notional, maxUint256, maxUint256])

  /** Moves the time to an event's expiry and settles the event. */
  const settle = async (eventId: bigint, price: bigint) => {
    await at((await read('getHedgeEventCore', [eventId])).expiryDate)
    return send(oracleAdmin, 'settleEvent', [eventId, price])
  }

  const tools = {
    client,
    now,
    at,
    mineAt,
    balance,
    transact,
    send,
    read,
    simulate,
    outcome,
    refuses,
    approve,
    mint,
    deploy,
    logsAt,
    inOneBlock,
  }
  const { url } = anvil
  const { deployBlock } = deployed
  return {
    ...people,
    people,
    accounts,
    url,
    deployment,
    deployBlock,
    diamond,
    usdc,
    dai,
    restore,
    ...tools,
    newEvent,
    create,
    buy,
    settle,
  }
}

/** One node for each profile: the files of a worker use it one after the other. */
const prepared = new Map<ProfileName, ReturnType<typeof prepareProtocol>>()

/**
 * The protocol on a real node, with two payment tokens (6 and 18 decimals) that every account owns and has approved. A
 * file begins with the protocol as it was deployed, and each test's changes are reverted after it. It behaves as
 * specified unless another profile is named.
 *
 * @example
 * const { send, creator, newEvent } = await useProtocol()
 * test('…', async () => { const { logs } = await send(creator, 'createEvent', [newEvent()]) })
 */
export const useProtocol = async (profile: ProfileName = 'reference') => {
  const preparing = prepared.get(profile) ?? prepareProtocol(profile)
  prepared.set(profile, preparing)
  const { restore, ...protocol } = await preparing
  const start = await restore()
  const { client } = protocol
  let snapshot: Hex
  beforeEach(async () => {
    snapshot = await client.snapshot()
  })
  afterEach(() => client.revert({ id: snapshot }))
  return { ...protocol, start }
}

export type UsedProtocol = Awaited<ReturnType<typeof useProtocol>>
