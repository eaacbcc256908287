import {
  encodeAbiParameters,
  encodeErrorResult,
  encodeEventTopics,
  getAddress,
  keccak256,
  numberToHex,
  pad,
  parseAbi,
  parseAbiParameters,
} from 'viem'
import { describe, expect, test } from 'vitest'
import { erc20Abi } from '../../src/abi/erc20.generated.ts'
import type { PlacedTransaction } from '../../src/db/queries/ledger-transactions.ts'
import { ServiceError, unavailable, upstream } from '../../src/lib/errors.ts'
import { createLookup } from '../../src/reads/transactions/lookup.ts'
import {
  type Asked,
  blockAt,
  fakeChain,
  fakeDeployment,
  hashAt,
  rawBlock,
  rawReceipt,
  tooLong,
} from '../support/fake-chain.ts'
import { fakeSources, rawTransaction, SENDER } from '../support/fake-lookup.ts'
import { fakeChanges, lookupWaits } from '../support/fake-waits.ts'
import { Failure } from '../support/script.ts'

/* What a look-up returns by the answers of nodes and of the index. */

const HASH = keccak256('0x01')
const OTHER = keccak256('0x02')
const HEAD = 1_000
const MINED = 990
const never = new AbortController().signal
const paused = encodeErrorResult({ abi: parseAbi(['error Error(string)']), args: ['Paused'] })

/** `answer` is asked before the usual answers: a transaction in block `MINED` that was not replaced. */
const open = (answer: (asked: Asked) => unknown = () => undefined, stored: readonly PlacedTransaction[] = []) => {
  const fake = fakeChain((asked) => {
    const said = answer(asked)
    if (said !== undefined) return said
    const { method, params } = asked
    if (method === 'eth_getTransactionByHash') return rawTransaction(params[0])
    if (method === 'eth_getTransactionCount') return '0x7'
    return method === 'eth_getTransactionReceipt' ? rawReceipt(params[0], MINED) : undefined
  })
  const { sources, state, searched } = fakeSources(fake.chain)
  const log = fakeChanges()
  const lookup = createLookup(sources, lookupWaits(log.changes, stored))
  const find = async () => lookup(fake.chain, HASH, never, 'client')
  return { ...fake, ...log, sources, state, searched, find, data: async () => (await find()).data }
}

/** Answers of one method. */
const say =
  (of: string, result: unknown) =>
  ({ method }: Asked) =>
    method === of ? result : undefined

const isUnmined = say('eth_getTransactionReceipt', null)

describe('a mined transaction', () => {
  test('has its block, its call, and the newest block as that of the answer', async () => {
    const { find } = open(({ method, params }) =>
      method === 'eth_getTransactionByHash' ? rawTransaction(params[0], { input: '0x12' }) : undefined,
    )
    const { data, freshness } = await find()
    expect(freshness).toEqual({ source: 'chain', block: blockAt(HEAD), stale: false })
    expect(data).toMatchObject({
      ...{ chainId: 8453, hash: HASH, status: 'succeeded', revert: null, revertStatus: 'none', dropped: false },
      block: { number: MINED, hash: hashAt(MINED), timestamp: 1_000_000 + MINED },
      calls: [{ function: 'deposit' }],
      ...{ logs: [], logsOmitted: 0, logsIncomplete: false, userOperations: [], replacedBy: null },
      ...{ createdIncomplete: false, unknownLogs: [], unknownLogsOmitted: 0 },
    })
  })

  test('has no call when it calls another contract', async () => {
    expect(await open().data()).toMatchObject({ calls: null })
  })

  test.each([
    ['the newest block', HEAD, 1],
    ['the block before it', HEAD - 1, 2],
    ['a block after the known head', HEAD + 1, 1],
  ])('in %s has the number of blocks up to the newest one as confirmations', async (_, block, confirmations) => {
    const { chain, node, sources, changes } = open(({ method, params }) =>
      method === 'eth_getTransactionReceipt' ? rawReceipt(params[0], block) : undefined,
    )
    const lookup = createLookup(sources, lookupWaits(changes))
    // A node may have blocks that the pinned head has not.
    node.head = BigInt(HEAD + 1)
    const { data, freshness } = await lookup({ ...chain, head: async () => blockAt(HEAD) }, HASH, never, 'client')
    expect(data).toMatchObject({ status: 'succeeded', block: { number: block }, confirmations })
    expect(freshness.block).toEqual(blockAt(Math.max(HEAD, block)))
  })

  test.each([
    ['in the finalized block', 990n, 990n, 'finalized'],
    ['after the finalized block', 989n, 990n, 'safe'],
    ['after the safe block', 980n, 989n, 'latest'],
    ['while no block is final', null, null, 'latest'],
    ['while nodes know safe blocks only', unavailable('down'), 995n, 'safe'],
    ['while nodes refuse both', upstream('no'), upstream('no'), 'latest'],
  ] as const)('%s has its finality', async (_, finalized, safe, finality) => {
    const { data, state } = open()
    Object.assign(state, { finalized, safe })
    expect(await data()).toMatchObject({ finality })
  })

  test('with an unexpected error of its finality is an error', async () => {
    const { find, state } = open()
    state.safe = new TypeError('not expected')
    await expect(find()).rejects.toThrow('not expected')
  })

  test.each([
    [BigInt(MINED), true],
    [BigInt(MINED) + 5n, true],
    [BigInt(MINED) - 1n, false],
    [null, false],
  ])('is indexed when the index has reached its block: at %s %s', async (tip, indexed) => {
    const { data, tips } = open()
    if (tip !== null) tips.set(8453, tip)
    expect(await data()).toMatchObject({ indexed })
  })

  test.each([
    [MINED, true],
    [MINED + 1, false],
  ])(
    'is indexed while the ledger has it in its block, whatever the node has at the height of the index: %i',
    async (at, indexed) => {
      const lagging = ({ method, params: [number] }: Asked) =>
        method === 'eth_getBlockByNumber' && number === numberToHex(995) ? null : undefined
      const { data, tips } = open(lagging, [{ hash: HASH, block: BigInt(MINED), blockHash: hashAt(at) }])
      tips.set(8453, 995n)
      expect(await data()).toMatchObject({ status: 'succeeded', indexed })
    },
  )

  test('is indexed by the block of the node while the ledger is out of reach', async () => {
    const { chain, sources, changes, tips } = open()
    const ledgerTransactions = () => Promise.reject(unavailable('down'))
    const lookup = createLookup(sources, { ...lookupWaits(changes), ledgerTransactions })
    tips.set(8453, 995n)
    expect((await lookup(chain, HASH, never, 'client')).data).toMatchObject({ status: 'succeeded', indexed: true })
  })

  test('is not indexed while the index is on another fork', async () => {
    const { data, tips } = open(({ method, params: [number] }) =>
      method === 'eth_getBlockByNumber' && number === numberToHex(995)
        ? rawBlock({ ...blockAt(995), hash: keccak256('0x0a') })
        : undefined,
    )
    tips.set(8453, 995n)
    expect(await data()).toMatchObject({ status: 'succeeded', indexed: false })
  })

  test.each([
    [{}, { gasUsed: '21000', effectiveGasPrice: '7', dataFee: null, operatorFee: null, total: '147000' }],
    [{ l1Fee: '0x5' }, { dataFee: '5', operatorFee: null, total: '147005' }],
    [{ operatorFeeConstant: '0x3' }, { dataFee: null, operatorFee: '3', total: '147003' }],
    [
      { l1Fee: '0x5', operatorFeeConstant: '0x3' },
      { dataFee: '5', operatorFee: '3', total: '147008' },
    ],
    [{ l1Fee: '0x0' }, { dataFee: '0', total: '147000' }],
    [{ effectiveGasPrice: null, l1Fee: '0x5' }, null],
  ])('has the fee of a receipt with %o', async (changes, fee) => {
    const { data } = open(({ method, params }) =>
      method === 'eth_getTransactionReceipt' ? rawReceipt(params[0], MINED, changes) : undefined,
    )
    const found = await data()
    if (fee === null) expect(found.fee).toBeNull()
    else expect(found.fee).toMatchObject(fee)
  })

  test('has the logs of its receipt in their order, and what they created by kind', async () => {
    const { diamond } = fakeDeployment(8453)
    const [topic] = encodeEventTopics({ abi: erc20Abi, eventName: 'Transfer' })
    const amounts = [5n, 6n, 7n]
    const logs = amounts.map((amount, at) => ({
      ...{ address: diamond, topics: [topic, pad(SENDER), pad(diamond)], blockNumber: numberToHex(MINED) },
      ...{ data: encodeAbiParameters(parseAbiParameters('uint256'), [amount]), logIndex: numberToHex(at) },
      ...{ blockHash: hashAt(MINED), transactionHash: HASH },
    }))
    const usdc = '0x00000000000000000000000000000000000000cc'
    const { chain, data } = open(({ method, params }) =>
      method === 'eth_getTransactionReceipt'
        ? rawReceipt(params[0], MINED, { logs: logs.map((log) => ({ ...log, address: usdc })) })
        : undefined,
    )
    expect(chain.deployment.diamond).toBe(diamond)
    const found = await data()
    expect(found.logs.map(({ args }) => args.value)).toEqual(amounts.map(String))
    expect(found.logs[0]).toMatchObject({ address: getAddress(usdc), name: 'Transfer' })
    expect(found.created).toEqual({ eventIds: [], depositIds: [], positionIds: [] })
  })

  test('whose receipt is too long has the protocol logs only', async () => {
    const { data, calls } = open(({ method }) => {
      if (method === 'eth_getTransactionReceipt' && calls('eth_getTransactionReceipt').length === 1) throw tooLong()
      return method === 'eth_getLogs' ? [] : undefined
    })
    expect(await data()).toMatchObject({ status: 'succeeded', logsIncomplete: true, calls: null })
    expect(calls('eth_getTransactionReceipt')).toHaveLength(2)
    expect(calls('eth_getTransactionByHash')).toHaveLength(2)
  })

  test('in a block that a reorg removed is pending', async () => {
    const { data } = open(({ method, params }) =>
      method === 'eth_getTransactionReceipt' ? rawReceipt(params[0], MINED, { blockHash: OTHER }) : undefined,
    )
    expect(await data()).toMatchObject({ status: 'pending', block: null, confirmations: 0, finality: null })
  })

  test('that reverted has no reason when no node has the transaction', async () => {
    const { data, calls } = open(({ method, params }) => {
      if (method === 'eth_getTransactionByHash') return null
      return method === 'eth_getTransactionReceipt' ? rawReceipt(params[0], MINED, { status: '0x0' }) : undefined
    })
    expect(await data()).toMatchObject({ status: 'reverted', revert: null, revertStatus: 'unavailable', calls: null })
    expect(calls('debug_traceTransaction')).toEqual([])
  })

  test.each([
    ['its trace', { output: '0x', error: 'out of gas' }, '0x5208', 'execution_failed'],
    ['the function that it called', { output: paused, error: 'execution reverted' }, '0x5208', 'already_paused'],
    ['less gas than it had', { output: '0x', error: 'execution reverted' }, '0x5208', 'reverted_without_reason'],
    ['all the gas that it had', { output: '0x', error: 'execution reverted' }, '0xffff', 'execution_failed'],
  ])('that reverted has the reason by %s', async (_, trace, gasUsed, code) => {
    const { data } = open(({ method, params }) => {
      if (method === 'debug_traceTransaction') return trace
      if (method === 'eth_getTransactionByHash') return rawTransaction(params[0], { input: '0x34', gas: '0xffff' })
      const status = { status: '0x0', gasUsed }
      return method === 'eth_getTransactionReceipt' ? rawReceipt(params[0], MINED, status) : undefined
    })
    expect(await data()).toMatchObject({ status: 'reverted', revertStatus: 'known', revert: { code, exact: true } })
  })
})

describe('a transaction that is not mined', () => {
  test.each([
    ['pending while a node has it', rawTransaction(HASH, { input: '0x12' }), 'pending', [{ function: 'deposit' }]],
    ['unknown when no node has it', null, 'unknown', null],
  ])('is %s', async (_, tx, status, calls) => {
    const { find } = open((asked) => (asked.method === 'eth_getTransactionByHash' ? tx : isUnmined(asked)))
    const { data, freshness } = await find()
    expect(data).toMatchObject({ status, dropped: false, replacedBy: null, indexed: false, block: null })
    expect(data.calls).toEqual(calls?.map((call) => expect.objectContaining(call)) ?? null)
    expect(freshness).toEqual({ source: 'chain', block: blockAt(HEAD), stale: false })
  })

  /** The nonce of the sender was used in the newest block but one, by `by`. */
  const replacedBy =
    (by: string, usedIn = HEAD - 1) =>
    ({ method, params: [first, second] }: Asked) => {
      if (method === 'eth_getTransactionCount') return second === 'latest' || Number(second) >= usedIn ? '0x8' : '0x7'
      if (method === 'eth_getBlockByNumber' && second === true)
        return { hash: hashAt(Number(first)), transactions: Number(first) === usedIn ? [rawTransaction(by)] : [] }
      return method === 'eth_getTransactionReceipt' && first === HASH ? null : undefined
    }

  test('is dropped when another one with its nonce was mined, as when it was sped up', async () => {
    expect(await open(replacedBy(OTHER)).data()).toMatchObject({
      ...{ status: 'unknown', dropped: true, replacedBy: OTHER, block: null },
    })
  })

  test('is dropped when its nonce was used too long ago to say by which one', async () => {
    expect(await open(replacedBy(OTHER, HEAD - 5_000)).data()).toMatchObject({ dropped: true, replacedBy: null })
  })

  test('is pending when its nonce is used in a block after the known head', async () => {
    expect(await open(replacedBy(OTHER, HEAD + 1)).data()).toMatchObject({ status: 'pending', dropped: false })
  })

  test('is pending when it was mined itself and the receipt is late', async () => {
    expect(await open(replacedBy(HASH)).data()).toMatchObject({ status: 'pending', dropped: false, replacedBy: null })
  })

  test('is mined when the second request has its receipt', async () => {
    const opened = open((asked) => {
      if (asked.method === 'eth_getTransactionReceipt')
        return opened.calls('eth_getTransactionReceipt').length > 1 ? undefined : null
      return replacedBy(HASH)(asked)
    })
    expect(await opened.data()).toMatchObject({ status: 'succeeded', dropped: false })
  })

  test('is dropped by the sender of an earlier look-up once nodes have forgotten it, on its chain only', async () => {
    const state = { isForgotten: false }
    const opened = open((asked) => {
      if (asked.method === 'eth_getTransactionByHash' && state.isForgotten) return null
      return state.isForgotten ? replacedBy(OTHER)(asked) : isUnmined(asked)
    })
    expect(await opened.data()).toMatchObject({ status: 'pending' })
    state.isForgotten = true
    expect(await opened.data()).toMatchObject({ status: 'unknown', dropped: true, replacedBy: OTHER })
    expect(opened.sources.senders.get(8453, HASH)).toEqual({ from: SENDER, nonce: 7n })
    expect(opened.sources.senders.get(56, HASH)).toBeUndefined()
  })

  test('keeps the sender of a mined transaction too, which a reorg may remove', async () => {
    const { find, sources } = open()
    await find()
    expect(sources.senders.get(8453, HASH)).toEqual({ from: SENDER, nonce: 7n })
  })
})

describe('while no node answers', () => {
  const down = () => {
    throw unavailable('no node answers')
  }
  const row = (kind: 'event' | 'deposit' | 'position', id: bigint) => ({ kind, id, owner: SENDER, block: blockAt(990) })
  const owner = getAddress(SENDER)

  test('the index answers for a transaction that created something', async () => {
    const { find, state, searched } = open(down)
    state.tip = blockAt(20_000)
    state.rows = [row('event', 1n), row('deposit', 2n), row('deposit', 3n), row('position', 4n)]
    const { data, freshness } = await find()
    expect(freshness).toEqual({ source: 'database', block: blockAt(20_000), stale: true })
    expect(data).toMatchObject({
      ...{ chainId: 8453, hash: HASH, status: 'succeeded', indexed: true, finality: 'latest', confirmations: 19_011 },
      block: { number: 990, hash: hashAt(990), timestamp: 1_000_990 },
      created: {
        eventIds: [{ id: 1, owner }],
        depositIds: [
          { id: 2, owner },
          { id: 3, owner },
        ],
        positionIds: [{ id: 4, owner }],
      },
      createdIncomplete: true,
    })
    expect(searched).toEqual((['event', 'deposit', 'position'] as const).map((kind) => [kind, HASH, 10_000n]))
  })

  test.each(['event', 'deposit', 'position'] as const)(
    'the index answers for a transaction that created one %s',
    async (kind) => {
      const { data, state } = open(down)
      state.tip = blockAt(1_000)
      state.rows = [row(kind, 5n)]
      expect((await data()).created).toMatchObject({ [`${kind}Ids`]: [{ id: 5, owner }] })
    },
  )

  test.each([
    ['has no such row', { tip: blockAt(20_000) }],
    ['is empty', {}],
    ['is out of reach too', { indexFault: unavailable('the database is out of reach') }],
  ])('the fault of the nodes is reported when the index %s', async (_, changes) => {
    const { find, state } = open(down)
    Object.assign(state, changes)
    await expect(find()).rejects.toThrow('no node answers')
  })

  test('an error of the index that is not expected is reported', async () => {
    const { find, state } = open(down)
    state.indexFault = new TypeError('not expected')
    await expect(find()).rejects.toThrow('not expected')
  })

  test('the index is not asked when nodes refuse, or when the client has left', async () => {
    const refusing = open(say('eth_getTransactionReceipt', new Failure(-32_000, 'refused')))
    refusing.state.tip = blockAt(20_000)
    await expect(refusing.find()).rejects.toMatchObject({ code: 'upstream_error', message: 'refused' })
    expect(refusing.calls('eth_getTransactionByHash')).toHaveLength(1)

    const { sources, changes, chain, searched, state } = open(down)
    state.tip = blockAt(20_000)
    const left = AbortSignal.abort(new ServiceError('service_unavailable', 'the client disconnected'))
    const lookup = createLookup(sources, lookupWaits(changes))
    await expect(lookup(chain, HASH, left, 'client')).rejects.toThrow('the client disconnected')
    expect([...searched, ...refusing.searched]).toEqual([])
  })
})
