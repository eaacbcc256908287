import { createClient, type ExecuteOptions, ExecutionError, type Plan } from 'fx-protection-client'
import { createWalletClient, custom, type Hex } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { batchCode, batchOf, ENTRY_POINT, entryPointCode, operationLog } from '../support/entry-point.ts'
import { startIndexed, type World } from '../support/indexing.ts'
import { eventually } from '../support/process.ts'
import { createWalletProvider, walletFault } from '../support/wallet-provider.ts'

/* Plans that wallets of many kinds send, over a real chain: whatever the wallet does, one `execute` buys once at most. */

const USDC = 10n ** 6n
const batcher: Hex = '0x00000000000000000000000000000000000ba7c4'

/** No node knows a transaction with this hash. */
const foreign: Hex = `0x${'5a'.repeat(32)}`

type Client = ReturnType<typeof createClient>
type Answers = NonNullable<Parameters<typeof createWalletProvider>[0]['answers']>

let indexed: Awaited<ReturnType<typeof startIndexed>>
let world: World
let client: Client
let baseUrl: string
let from: Hex

beforeAll(async () => {
  indexed = await startIndexed([8453])
  world = indexed.world
  from = world.hedger.account.address
  const { app } = await indexed.open()
  baseUrl = await app.listen({ port: 0, host: '127.0.0.1' })
  client = createClient({ baseUrl })
  await world.actions.node.setCode({ address: batcher, bytecode: batchCode })
})
afterAll(() => indexed?.close())

/** An account with the code of `batchCode` (EIP-7702). */
const delegate = (bytecode: Hex): Promise<void> => world.actions.node.setCode({ address: from, bytecode })
afterEach(() => delegate('0x'))

const walletOf = (answers: Answers = {}, options: { batches?: boolean; atomic?: boolean; rejects?: boolean } = {}) => {
  const rpcUrl = world.anvil.url
  const made = createWalletProvider({ rpcUrl, account: { address: from }, batches: true, ...options, answers })
  return { ...made, wallet: createWalletClient({ account: from, transport: custom(made.provider) }) }
}

/** A purchase in two steps, of an amount of its own. */
let notional = 100n * USDC
const purchase = async (): Promise<Plan> => {
  notional += USDC
  const revoke = await client.plans.revokeApproval({ chainId: 8453, from, token: world.deployment.usdc })
  await client.execute(revoke, walletOf({}, { batches: false }).wallet)
  const plan = await client.plans.buyProtection({ chainId: 8453, from, eventId: 1, notional })
  expect(plan.steps.map(({ id }) => id)).toEqual(['approve', 'buy-protection'])
  return plan
}

const held = async (): Promise<number> => (await world.actions.positionsOf(world.hedger)).length

const failure = async (execution: Promise<unknown>): Promise<ExecutionError> => {
  const error = await execution.catch((fault: unknown) => fault)
  if (error instanceof ExecutionError) return error
  throw new Error('expected an ExecutionError', { cause: error })
}

/** What an error of a purchase that may be on the chain never does: deny that it was sent, or advise to send again. */
const DENIES = /did not send|not sent|batch: false|request a new plan|send it again\.$|try again/i

/** Fails the first requests of a method. */
const failing = (times: number, fail: () => unknown) => {
  let failed = 0
  return (own: () => Promise<unknown>) => (failed++ < times ? fail() : own())
}

const without = (own: () => Promise<unknown>, ...names: readonly string[]) =>
  own().then((status) => Object.fromEntries(Object.entries(Object(status)).filter(([name]) => !names.includes(name))))

const fault = (code: number, message?: string) => (): never => {
  throw walletFault(code, message)
}
/** An internal error of a wallet, around another one. */
const wrapped = (code: number) => (): never => {
  throw Object.assign(walletFault(-32603), { data: { code } })
}
const lost = (): never => {
  throw new TypeError('fetch failed')
}

/** Sends what was asked for, and then fails. */
const sendsAndFails = (fail: () => never) => async (own: () => Promise<unknown>) => {
  await own()
  return fail()
}

type Case = {
  readonly answers?: Answers
  readonly options?: { batches?: boolean; atomic?: boolean; rejects?: boolean }
  readonly confirmationMs?: number
  /** Requests that reach the wallet's own sending. */
  readonly sends?: number
}

const buyers: Readonly<Record<string, Case>> = {
  'sends a batch one by one': { sends: 1 },
  'sends a batch as one transaction': { options: { atomic: true }, sends: 1 },
  'has no EIP-5792': { options: { batches: false }, sends: 2 },
  'confirms without receipts': { answers: { wallet_getCallsStatus: (own) => without(own, 'receipts') } },
  'confirms an atomic batch without receipts': {
    answers: { wallet_getCallsStatus: (own) => without(own, 'receipts') },
    options: { atomic: true },
  },
  'confirms with an empty list of receipts': {
    answers: { wallet_getCallsStatus: async (own) => ({ ...Object(await own()), receipts: [] }) },
  },
  'confirms with receipts that have no hash': {
    answers: { wallet_getCallsStatus: async () => ({ status: 200, receipts: [{ status: '0x1' }, null] }) },
  },
  'confirms with a hash that no node knows': {
    answers: { wallet_getCallsStatus: async () => ({ status: 200, receipts: [{ transactionHash: foreign }] }) },
  },
  'repeats one receipt for several calls': {
    answers: {
      wallet_getCallsStatus: async (own) => {
        const status = Object(await own())
        return { ...status, receipts: [...status.receipts, ...status.receipts] }
      },
    },
    options: { atomic: true },
  },
  'gives its hash in capital letters': {
    answers: {
      wallet_getCallsStatus: async (own) => {
        const status = Object(await own())
        const capital = (hash: string) => `0x${hash.slice(2).toUpperCase()}`
        const receipts = status.receipts.map((it: { transactionHash: string }) => ({
          transactionHash: capital(it.transactionHash),
        }))
        return { ...status, receipts: [...status.receipts, ...receipts] }
      },
    },
  },
  'reports 500 for the first polls': {
    answers: { wallet_getCallsStatus: failing(3, async () => ({ status: 500 })) },
  },
  'reports 500 without end, although it bought': { answers: { wallet_getCallsStatus: async () => ({ status: 500 }) } },
  'reports 600 without receipts, although it bought': {
    answers: { wallet_getCallsStatus: async () => ({ status: 600, receipts: [] }) },
  },
  'fails the first requests of the status': { answers: { wallet_getCallsStatus: failing(3, fault(-32603)) } },
  'loses the first requests of the status': { answers: { wallet_getCallsStatus: failing(3, lost) } },
  'answers the first requests of the status with nonsense': {
    answers: { wallet_getCallsStatus: failing(3, async () => 'soon') },
  },
  'uses words for the status': {
    answers: { wallet_getCallsStatus: async (own) => ({ ...Object(await own()), status: 'CONFIRMED' }) },
  },
  'has lost the status of a batch that it sent': {
    answers: { wallet_getCallsStatus: fault(5730) },
    confirmationMs: 5_000,
  },
  'never answers about the status': {
    answers: { wallet_getCallsStatus: () => new Promise(() => {}) },
    confirmationMs: 5_000,
  },
  'returns the id as a text': { answers: { wallet_sendCalls: async (own) => Object(await own()).id } },
  'returns no id': { answers: { wallet_sendCalls: (own) => own().then(() => null) } },
  'sends the batch and loses the answer': { answers: { wallet_sendCalls: sendsAndFails(lost) } },
  'sends the batch and reports an internal error': { answers: { wallet_sendCalls: sendsAndFails(fault(-32603)) } },
  'takes the batch for one that it has already': { answers: { wallet_sendCalls: sendsAndFails(fault(5720)) } },
  'sends the batch and reports an internal error around a missing method': {
    answers: { wallet_sendCalls: sendsAndFails(wrapped(-32601)) },
  },
  'sends the batch and reports an internal error around a rejection': {
    answers: { wallet_sendCalls: sendsAndFails(wrapped(4001)) },
  },
  'sends the batch and reports an internal error around a large batch': {
    answers: { wallet_sendCalls: sendsAndFails(wrapped(5740)) },
  },
  'sends the batch and reports that a method is missing': {
    answers: { wallet_sendCalls: sendsAndFails(fault(-32601)) },
  },
  'sends the batch and reports a time-out of its node': {
    answers: { wallet_sendCalls: sendsAndFails(fault(-32000, 'request timed out')) },
  },
  'sends the batch, loses the answer, and does not know the id': {
    answers: { wallet_sendCalls: sendsAndFails(lost), wallet_getCallsStatus: async () => ({ status: 400 }) },
  },
  'names a block of the future': { answers: { eth_blockNumber: async () => '0xffffffffff' } },
  'never answers about its capabilities': {
    answers: { wallet_getCapabilities: () => new Promise(() => {}) },
    sends: 2,
  },
  'refuses batches of two': { answers: { wallet_sendCalls: fault(5740, 'bundle too large') } },
  'refuses a capability': { answers: { wallet_sendCalls: fault(5700) } },
  'refuses batches on this chain': { answers: { wallet_sendCalls: fault(5710) } },
  'refuses an atomic batch': { answers: { wallet_sendCalls: fault(5760) } },
  'refuses the shape of a batch': { answers: { wallet_sendCalls: fault(-32602) } },
  'names capabilities, and has no batches': { answers: { wallet_sendCalls: fault(4200) } },
}

describe('a purchase buys exactly once with a wallet that', () => {
  test.each(Object.entries(buyers))('%s', async (_, { answers, options, sends, confirmationMs = 20_000 }) => {
    if (options?.atomic === true) await delegate(`0xef0100${batcher.slice(2)}`)
    const plan = await purchase()
    const { wallet, sent } = walletOf(answers, options)
    const before = await held()
    const hashes: string[] = []
    const onSent = (hash: string) => void hashes.push(hash)
    const { positionIds, transactions } = await client.execute(plan, wallet, { onSent, confirmationMs })
    const { data } = await client.get('/v1/hedge/positions', { chainId: 8453, ids: positionIds.join() })
    expect(data).toMatchObject([{ eventId: 1, notional, hedger: from, createdTx: transactions.at(-1)?.hash }])
    expect(hashes).toEqual(expect.arrayContaining(transactions.map(({ hash }) => hash)))
    expect(new Set(hashes).size).toBe(hashes.length)
    expect(await held()).toBe(before + 1)
    if (sends !== undefined) expect(sent).toHaveLength(sends)
  })
})

const refusals: Readonly<Record<string, Case & { readonly code: string }>> = {
  'rejects a batch': { code: 'user_rejected', options: { rejects: true } },
  'rejects a transaction': { code: 'user_rejected', options: { rejects: true, batches: false } },
  'rejects the upgrade of its account': { code: 'user_rejected', answers: { wallet_sendCalls: fault(5750) } },
  'rejects with words only': { code: 'user_rejected', answers: { wallet_sendCalls: fault(-32603, 'User denied it') } },
  'reports that it did not send the batch': {
    code: 'wallet_failed',
    answers: { wallet_sendCalls: async () => '0x01', wallet_getCallsStatus: async () => ({ status: 400 }) },
  },
  'has no money for gas': {
    code: 'wallet_failed',
    answers: { wallet_sendCalls: fault(-32603, 'insufficient funds for gas * price + value') },
  },
  'has a request open already': { code: 'wallet_failed', answers: { wallet_sendCalls: fault(-32002) } },
}

describe('a purchase buys nothing with a wallet that', () => {
  test.each(Object.entries(refusals))('%s', async (_, { answers, options, code }) => {
    const plan = await purchase()
    const { wallet, sent } = walletOf(answers, options)
    const before = await held()
    const error = await failure(client.execute(plan, wallet, { confirmationMs: 20_000 }))
    expect(error).toMatchObject({ code, hint: expect.any(String), hash: undefined })
    expect(sent).toEqual([])
    expect(await held()).toBe(before)
  })
})

describe('a purchase whose outcome is not known in time', () => {
  const pending = {
    wallet_sendCalls: async () => ({ id: '0xabc' }),
    wallet_getCallsStatus: async () => ({ status: 100 }),
  }

  test.each<[string, Answers, object]>([
    ['is pending', pending, { batchId: '0xabc', hash: undefined }],
    ['has no status', { ...pending, wallet_getCallsStatus: fault(-32603) }, { batchId: '0xabc' }],
    [
      'is confirmed without a trace',
      { ...pending, wallet_getCallsStatus: async () => ({ status: 200 }) },
      { batchId: '0xabc' },
    ],
    [
      'is reverted without a trace',
      { ...pending, wallet_getCallsStatus: async () => ({ status: 500 }) },
      { batchId: '0xabc' },
    ],
    [
      'has a hash that no node knows',
      { ...pending, wallet_getCallsStatus: async () => ({ status: 200, receipts: [{ transactionHash: foreign }] }) },
      { batchId: '0xabc', hash: foreign, hint: expect.stringContaining('Safe') },
    ],
    ['lost its answer', { wallet_sendCalls: lost }, { batchId: expect.stringMatching(/^0x/), hash: undefined }],
  ])('is an error that neither denies the batch nor advises another one: it %s', async (_, answers, known) => {
    const plan = await purchase()
    const batches: string[] = []
    const options = { confirmationMs: 1_500, onBatch: (id: string) => void batches.push(id) }
    const error = await failure(client.execute(plan, walletOf(answers).wallet, options))
    expect(error).toMatchObject({ code: 'not_confirmed', ...known })
    expect(`${error.message} ${error.hint}`).not.toMatch(DENIES)
    expect(batches).toEqual([error.batchId])
  })

  test('a wallet that returns the hash of a request of its own, as a Safe does, is explained', async () => {
    const plan = await purchase()
    const { wallet } = walletOf({ eth_sendTransaction: async () => foreign }, { batches: false })
    const error = await failure(client.execute(plan, wallet, { confirmationMs: 1_500 }))
    expect(error).toMatchObject({ code: 'not_confirmed', hash: foreign, hint: expect.stringContaining('Safe') })
    expect(`${error.message} ${error.hint}`).not.toMatch(DENIES)
    const waited = await failure(client.waitForTransaction(8453, foreign, { confirmationMs: 500 }))
    expect(waited).toMatchObject({ code: 'not_confirmed', hash: foreign, hint: expect.stringContaining('Safe') })
  })

  /** Ends with the hash of the newest transaction, which is not the purchase. */
  const takes = async (other: () => Promise<unknown>): Promise<void> => {
    const plan = await purchase()
    await other()
    const { hash } = await world.newest()
    const status = { status: 200, receipts: [{ transactionHash: hash }] }
    const { wallet } = walletOf({ ...pending, wallet_getCallsStatus: async () => status })
    const error = await failure(client.execute(plan, wallet, { confirmationMs: 1_500 }))
    expect(error).toMatchObject({ code: 'not_confirmed', batchId: '0xabc', hash })
    expect(`${error.message} ${error.hint}`).not.toMatch(DENIES)
  }

  test('is not confirmed by a purchase of another wallet, nor by another purchase or an approval of its own', async () => {
    const { actions, lp, hedger, deployment } = world
    await takes(() => actions.buy(lp, 1n, notional))
    await takes(() => actions.approve(hedger, deployment.usdc))
    await takes(async () => {
      await actions.approve(hedger, deployment.usdc)
      await actions.buy(hedger, 1n, 7n * USDC)
    })
  })

  test('is not confirmed by a transaction of the same kind from before the plan', async () => {
    const { actions, hedger, deployment } = world
    await actions.approve(hedger, deployment.usdc)
    await actions.buy(hedger, 1n, notional + USDC)
    const { hash } = await world.newest()
    const status = { status: 200, receipts: [{ transactionHash: hash }] }
    const { wallet } = walletOf({ ...pending, wallet_getCallsStatus: async () => status })
    const error = await failure(client.execute(await purchase(), wallet, { confirmationMs: 1_500 }))
    expect(error).toMatchObject({ code: 'not_confirmed', batchId: '0xabc', hash })
  })
})

describe('the hash of a Safe', () => {
  test('is followed by the transaction that executes its request', async () => {
    const plan = await purchase()
    const approve = walletOf({}, { batches: false })
    let steps = 0
    const answers: Answers = {
      // The approval is sent as it is; the purchase is sent under another hash.
      eth_sendTransaction: async (own) => {
        const hash = await own()
        return steps++ === 0 ? hash : foreign
      },
    }
    const { wallet } = walletOf(answers, { batches: false })
    const before = await held()
    const hashes: string[] = []
    const options = { onSent: (hash: string) => void hashes.push(hash), confirmationMs: 30_000 }
    const { positionIds, transactions } = await client.execute(plan, wallet, options)
    expect(positionIds).toHaveLength(1)
    expect(hashes).toEqual([transactions[0]?.hash, foreign, transactions[1]?.hash])
    expect(await held()).toBe(before + 1)
    expect(approve.sent).toEqual([])
  })
})

describe('a step that fails', () => {
  test.each([0, 1])('after it was sent is found by what it did (step %s)', async (at) => {
    const plan = await purchase()
    let steps = 0
    const answers: Answers = { eth_sendTransaction: (own) => (steps++ === at ? sendsAndFails(lost)(own) : own()) }
    const before = await held()
    const options = { confirmationMs: 30_000 }
    const { positionIds } = await client.execute(plan, walletOf(answers, { batches: false }).wallet, options)
    expect(positionIds).toHaveLength(1)
    expect(await held()).toBe(before + 1)
  })

  test.each([-32000, -32005, -32603])(
    'and reported as the error %i is found, and not sent by another method',
    async (code) => {
      const plan = await purchase()
      const before = await held()
      const failed = sendsAndFails(fault(code, 'request limit reached'))
      const answers: Answers = { eth_sendTransaction: failed, wallet_sendTransaction: (own) => own() }
      const made = walletOf(answers, { batches: false })
      const { positionIds } = await client.execute(plan, made.wallet, { confirmationMs: 20_000 })
      expect(positionIds).toHaveLength(1)
      expect(await held()).toBe(before + 1)
      expect(made.requested).not.toContain('wallet_sendTransaction')
    },
  )

  test('on another chain than the step before is refused before it is sent', async () => {
    const plan = await purchase()
    const before = await held()
    let sends = 0
    const answers: Answers = {
      eth_sendTransaction: (own) => {
        sends += 1
        return own()
      },
      eth_chainId: (own) => (sends === 0 ? own() : '0x38'),
    }
    const error = await failure(client.execute(plan, walletOf(answers, { batches: false }).wallet))
    expect(error).toMatchObject({ code: 'wrong_chain' })
    expect([sends, await held()]).toEqual([1, before])
  })

  test.each([
    ['a batch', 'wallet_sendCalls', true],
    ['a transaction', 'eth_sendTransaction', false],
  ])('is not waited for after an abort while the wallet shows the request of %s', async (_, method, batches) => {
    const plan = await purchase()
    const leaving = new AbortController()
    const answers: Answers = {
      [method]: () => {
        leaving.abort(new Error('the page closes'))
        return new Promise(() => {})
      },
    }
    const error = await failure(client.execute(plan, walletOf(answers, { batches }).wallet, { signal: leaving.signal }))
    expect(error).toMatchObject({ code: 'aborted', cause: leaving.signal.reason })
    expect(error.batchId === undefined).toBe(!batches)
    expect(`${error.message} ${error.hint}`).not.toMatch(DENIES)
  })

  test('and cannot be found is an error that does not deny it', async () => {
    const plan = await purchase()
    const { wallet, sent } = walletOf({ eth_sendTransaction: lost }, { batches: false })
    const error = await failure(client.execute(plan, wallet, { confirmationMs: 1_500 }))
    expect(error).toMatchObject({ code: 'not_confirmed', hash: undefined, batchId: undefined })
    expect(`${error.message} ${error.hint}`).not.toMatch(DENIES)
    expect(sent).toEqual([])
  })
})

describe('a transaction that the wallet', () => {
  /** Sends the second step's transaction, lets the client see it, and mines another one with its nonce. */
  const replaced = async (replacement: (sent: object) => object) => {
    const plan = await purchase()
    const { node, client: chain } = world.actions
    let isSeen = false
    let steps = 0
    const answers: Answers = {
      eth_sendTransaction: async (own, [sent]) => {
        if (steps++ === 0) return own()
        await node.setAutomine(false)
        const hash = await own()
        const replace = async (): Promise<void> => {
          await eventually('the client sees the transaction', () => isSeen)
          const fees = { maxFeePerGas: '0x2540be40000', maxPriorityFeePerGas: '0x2540be400' }
          const params = [{ ...replacement(Object(sent)), ...fees }]
          await chain.request({ method: 'eth_sendTransaction', params } as never)
          await node.setAutomine(true)
          await node.mine({ blocks: 1 })
        }
        replacing = replace()
        return hash
      },
    }
    let replacing = Promise.resolve()
    const watching = createClient({
      baseUrl,
      fetch: async (url, init) => {
        const response = await fetch(String(url).replace(/waitMs=\d+/, 'waitMs=0'), init)
        if ((await response.clone().text()).includes('"status":"pending"')) isSeen = true
        return response
      },
    })
    try {
      return await watching.execute(plan, walletOf(answers, { batches: false }).wallet, { confirmationMs: 30_000 })
    } finally {
      await replacing
    }
  }

  test('speeds up is followed to the one that replaced it', async () => {
    const before = await held()
    const { positionIds, transactions } = await replaced((sent) => sent)
    expect([positionIds.length, transactions.length]).toEqual([1, 2])
    expect(await held()).toBe(before + 1)
  })

  test('cancels is an error with the code transaction_dropped', async () => {
    const before = await held()
    const cancel = ({ nonce, gas }: { readonly nonce?: string; readonly gas?: string }) => ({
      from,
      to: from,
      nonce,
      gas,
    })
    expect(await failure(replaced(cancel))).toMatchObject({ code: 'transaction_dropped', hash: expect.any(String) })
    expect(await held()).toBe(before)
  })
})

describe('a bundle of user operations', () => {
  const bundled = (sender: Hex): Answers => {
    let hash: unknown
    return {
      wallet_sendCalls: async (_, [batch]) => {
        const calls = Object(batch).calls.map(({ to, data }: { to: Hex; data: Hex }) => [to, data])
        const failed = [ENTRY_POINT, operationLog(foreign, sender, false)] as const
        const request = { from, to: from, data: batchOf([...calls, failed]), gas: '0x4c4b40' as const }
        hash = await world.actions.client.request({ method: 'eth_sendTransaction', params: [request] } as never)
        return { id: '0xabc' }
      },
      wallet_getCallsStatus: async () => ({ status: 200, receipts: [{ transactionHash: hash }] }),
    }
  }
  beforeEach(async () => {
    await world.actions.node.setCode({ address: ENTRY_POINT, bytecode: entryPointCode })
    await delegate(`0xef0100${batcher.slice(2)}`)
  })

  test('in which an operation of another account failed is a success', async () => {
    const wallet = walletOf(bundled(world.stranger.account.address)).wallet
    expect((await client.execute(await purchase(), wallet)).positionIds).toHaveLength(1)
  })

  test('in which the operation of the wallet failed is a failure, with the hash and the id of the batch', async () => {
    const plan = await client.plans.revokeApproval({ chainId: 8453, from, token: world.deployment.usdc })
    const error = await failure(client.execute(plan, walletOf(bundled(from)).wallet))
    expect(error).toMatchObject({ code: 'reverted_without_reason', batchId: '0xabc', hash: expect.any(String) })
  })
})

describe('a signal', () => {
  test('that is aborted before the first transaction prevents it', async () => {
    const plan = await purchase()
    for (const method of ['eth_chainId', 'wallet_getCapabilities']) {
      const stop = new AbortController()
      const answers: Answers = {
        [method]: async (own) => {
          stop.abort(new Error('stopped'))
          return own()
        },
      }
      const { wallet, sent } = walletOf(answers)
      await expect(client.execute(plan, wallet, { signal: stop.signal })).rejects.toThrow('stopped')
      expect(sent).toEqual([])
    }
  })

  test('that is aborted during the wait leaves the id of the batch and the hash in the error', async () => {
    const stop = new AbortController()
    const answers: Answers = { wallet_getCallsStatus: async () => ({ status: 100 }) }
    const options: ExecuteOptions = { signal: stop.signal, onBatch: () => stop.abort(new Error('stopped')) }
    const batch = await failure(client.execute(await purchase(), walletOf(answers).wallet, options))
    expect(batch).toMatchObject({ code: 'aborted', batchId: expect.any(String), cause: { message: 'stopped' } })

    const end = new AbortController()
    const { wallet, sent } = walletOf({ eth_sendTransaction: async () => foreign }, { batches: false })
    const given: ExecuteOptions = { signal: end.signal, onSent: () => end.abort() }
    const step = await failure(client.execute(await purchase(), wallet, given))
    expect(step).toMatchObject({ code: 'aborted', hash: foreign })
    expect(sent).toEqual([])
  })
})

describe('claim-all', () => {
  let eventId: bigint
  beforeEach(async () => {
    const { actions, creator, upward, hedger, owner } = world
    eventId = (await actions.createEvent(creator, { ...upward, expiry: (await actions.now()) + 3_600 })).eventId
    await actions.setPool(creator, eventId, true, true)
    await actions.approve(hedger, world.deployment.usdc)
    for (let bought = 0; bought < 5; bought += 1) await actions.buy(hedger, eventId, 10n * USDC)
    await actions.warp((await actions.now()) + 3_600)
    await actions.settle(owner, eventId, 13_000_000n)
    await indexed.quiet()
  })

  const claims = async (): Promise<Plan> => {
    const plan = await client.plans.claimAll({ chainId: 8453, from })
    expect(plan.steps.length).toBeGreaterThanOrEqual(5)
    return plan
  }
  const unclaimed = async () =>
    (await client.get('/v1/hedge/positions', { chainId: 8453, wallet: from, claimable: true, count: true })).meta.total

  test('is split into batches of the size that the wallet takes', async () => {
    const plan = await claims()
    const sizes: number[] = []
    const { wallet } = walletOf({
      wallet_sendCalls: async (own, [batch]) => {
        const { calls } = Object(batch)
        sizes.push(calls.length)
        return calls.length > 2 ? fault(5740)() : own()
      },
    })
    const { transactions } = await client.execute(plan, wallet)
    expect(transactions).toHaveLength(plan.steps.length)
    expect(sizes.filter((size) => size <= 2).length).toBeGreaterThan(1)
    expect(await unclaimed()).toBe(0)
  })

  test.each([true, false])(
    'goes on step by step when the wallet refuses after its first batch (atomic: %s)',
    async (atomic) => {
      if (atomic) await delegate(`0xef0100${batcher.slice(2)}`)
      const plan = await claims()
      let sizeLimit = 3
      const answers: Answers = {
        wallet_sendCalls: async (own, [batch]) => {
          if (Object(batch).calls.length > sizeLimit) return fault(5740)()
          sizeLimit = 0
          return own()
        },
      }
      const { transactions } = await client.execute(plan, walletOf(answers, { atomic }).wallet)
      expect(transactions.every(({ status }) => status === 'succeeded')).toBe(true)
      expect(await unclaimed()).toBe(0)
    },
  )

  test.each([true, false])('that is confirmed without a hash is found by its logs (atomic: %s)', async (atomic) => {
    if (atomic) await delegate(`0xef0100${batcher.slice(2)}`)
    const plan = await claims()
    const { wallet } = walletOf({ wallet_getCallsStatus: (own) => without(own, 'receipts') }, { atomic })
    const hashes: string[] = []
    const { transactions } = await client.execute(plan, wallet, { onSent: (hash) => void hashes.push(hash) })
    expect(transactions.map(({ hash }) => hash)).toEqual(hashes)
    expect(hashes).toHaveLength(atomic ? 1 : plan.steps.length)
    expect(await unclaimed()).toBe(0)
  })

  test('that no log and no hash shows is not reported as failed or not sent', async () => {
    const answers: Answers = { wallet_getCallsStatus: (own) => without(own, 'receipts'), eth_getLogs: fault(-32005) }
    const error = await failure(client.execute(await claims(), walletOf(answers).wallet, { confirmationMs: 1_500 }))
    expect(error).toMatchObject({ code: 'not_confirmed', batchId: expect.any(String) })
    expect(`${error.message} ${error.hint}`).not.toMatch(DENIES)
  })
})

describe('the API fails during the wait', () => {
  const failingClient = (times: number): Client => {
    let failed = 0
    return createClient({
      baseUrl,
      attempts: 1,
      fetch: async (url, init) => {
        if (String(url).includes('/v1/transactions/') && failed++ < times) throw new TypeError('fetch failed')
        return fetch(url, init)
      },
    })
  }

  test('a moment without the API does not end the execution', async () => {
    const plan = await purchase()
    const { positionIds } = await failingClient(3).execute(plan, walletOf().wallet)
    expect(positionIds).toHaveLength(1)
  })

  test('an API that stays away ends it with the hash', async () => {
    const plan = await purchase()
    const error = await failure(
      failingClient(Number.POSITIVE_INFINITY).execute(plan, walletOf().wallet, { confirmationMs: 1_500 }),
    )
    expect(error).toMatchObject({
      code: 'not_confirmed',
      hash: expect.stringMatching(/^0x/),
      batchId: expect.any(String),
    })
  })
})
