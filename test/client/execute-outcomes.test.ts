import { createClient, type Plan, type Transaction } from 'fx-protection-client'
import { type Hex, pad } from 'viem'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { useFastClock } from '../support/fast-clock.ts'
import { blockAt, CHAIN, DIAMOND, FROM, hashOf, TOKEN, transactionOf } from '../support/memory-chain.ts'
import { type Answers, createMemoryWorld, DENIES, failureOf } from '../support/memory-wallet.ts'
import { fault, lost, sendsAndFails } from '../support/wallet-answers.ts'

/* Executions whose transactions are late, missing, replaced or of others. */

beforeAll(useFastClock)
afterAll(() => void vi.useRealTimers())

const foreign = hashOf(0x5a)
const other = '0x00000000000000000000000000000000000000f2'
const alone = { batches: false }

type World = ReturnType<typeof createMemoryWorld>

/** A wallet that took a batch and reports these transactions, or this status. */
const reporting = (report: () => unknown): Answers => ({
  wallet_sendCalls: async () => ({ id: '0xabc' }),
  wallet_getCallsStatus: async () => report(),
})
const receiptOf = (hash: string) => ({ status: 200, receipts: [{ transactionHash: hash }] })

describe('an outcome that is not known in time is an error that neither denies the batch nor advises another one:', () => {
  test.each<[string, Answers, object]>([
    ['it is pending', reporting(() => ({ status: 100 })), { message: expect.stringContaining('status 100') }],
    [
      'it has no status',
      { ...reporting(lost), wallet_getCallsStatus: fault(-32603) },
      { message: expect.stringContaining('no status'), cause: expect.any(Error) },
    ],
    ['it is confirmed without a trace', reporting(() => ({ status: 200 })), { hash: undefined }],
    ['it is reverted without a trace', reporting(() => ({ status: 500 })), { hash: undefined }],
    [
      'it has a hash that no node knows',
      reporting(() => receiptOf(foreign)),
      { hash: foreign, hint: expect.stringContaining('Safe') },
    ],
  ])('%s', async (_, answers, known) => {
    const { client, walletOf, purchase } = createMemoryWorld()
    const batches: string[] = []
    const options = { confirmationMs: 1_500, onBatch: (id: string) => void batches.push(id) }
    const error = await failureOf(client.execute(purchase(1n), walletOf(answers).wallet, options))
    expect(error).toMatchObject({ code: 'not_confirmed', batchId: '0xabc', ...known })
    expect(`${error.message} ${error.hint}`).not.toMatch(DENIES)
    expect(batches).toEqual(['0xabc'])
  })

  test('the answer of the wallet is lost', async () => {
    const { client, walletOf, purchase } = createMemoryWorld()
    const plan = purchase(1n)
    const { wallet } = walletOf({ wallet_sendCalls: lost })
    const error = await failureOf(client.execute(plan, wallet, { confirmationMs: 1_500 }))
    expect(error).toMatchObject({ code: 'not_confirmed', hash: undefined, cause: expect.any(Error) })
    expect(error.batchId).toMatch(new RegExp(`^${plan.digest}`))
    expect(`${error.message} ${error.hint}`).not.toMatch(DENIES)
  })

  test('a single step cannot be found', async () => {
    const { client, walletOf, purchase } = createMemoryWorld()
    const { wallet, sent } = walletOf({ eth_sendTransaction: lost }, alone)
    const error = await failureOf(client.execute(purchase(1n), wallet, { confirmationMs: 1_500 }))
    expect(error).toMatchObject({ code: 'not_confirmed', hash: undefined, batchId: undefined })
    expect(error.message).toBe('the wallet gave no hash: it is not known whether it sent the transaction')
    expect(`${error.message} ${error.hint}`).not.toMatch(DENIES)
    expect(sent).toEqual([])
  })

  test('the index does not reach the block, or the transaction stays pending', async () => {
    for (const [fields, text] of [
      [{ indexed: false }, /is succeeded after 1500 ms.*index has not reached/],
      [{ status: 'pending', indexed: false, block: null }, /is pending after 1500 ms.*may still be mined/],
    ] as const) {
      const { client, walletOf, purchase, onReport } = createMemoryWorld()
      onReport((own) => ({ ...own, ...fields }))
      const execution = client.execute(purchase(1n), walletOf({}, alone).wallet, { confirmationMs: 1_500 })
      const error = await failureOf(execution)
      expect(error.code).toBe('not_confirmed')
      expect(`${error.message} ${error.hint}`).toMatch(text)
    }
  })

  test('a wallet that returns the hash of a request of its own, as a Safe does, is explained', async () => {
    const { client, walletOf, purchase } = createMemoryWorld()
    const { wallet } = walletOf({ eth_sendTransaction: async () => foreign }, alone)
    const error = await failureOf(client.execute(purchase(1n), wallet, { confirmationMs: 1_500 }))
    expect(error).toMatchObject({ code: 'not_confirmed', hash: foreign, hint: expect.stringContaining('Safe') })
    expect(`${error.message} ${error.hint}`).not.toMatch(DENIES)
  })
})

test.each(['soon', { status: 99 }, { status: 'done' }, null])(
  'a status that is none, %j, is not reported, and a wallet that never answers about it takes no longer',
  async (status) => {
    const { client, walletOf, purchase } = createMemoryWorld()
    const began = Date.now()
    const { wallet } = walletOf(reporting(() => (status === null ? new Promise(() => {}) : status)))
    const error = await failureOf(client.execute(purchase(1n), wallet, { confirmationMs: 1_000 }))
    expect(error.message).toContain('the wallet reports no status and no hash')
    expect(Date.now() - began).toBe(1_000)
  },
)

describe('a transaction that the wallet names is not the purchase when it', () => {
  const buy = (eventId: number, notional: string) => ({ eventId, notional, maxCost: '7' })
  const cases: Readonly<Record<string, (world: World, plan: Plan) => Hex>> = {
    'is of another wallet': ({ mine }, plan) =>
      mine(
        other,
        plan.steps.map(({ transaction }) => transaction),
      ),
    'buys another notional': ({ mine, stepOf }) =>
      mine(FROM, [stepOf('b', DIAMOND, 'buyProtection', buy(1, '2')).transaction]),
    'buys of another event': ({ mine, stepOf }) =>
      mine(FROM, [stepOf('b', DIAMOND, 'buyProtection', buy(2, '1')).transaction]),
    'only approves': ({ mine, stepOf }) => mine(FROM, [stepOf('a', TOKEN, 'approve', { value: '1' }).transaction]),
  }
  test.each(Object.entries(cases))('%s', async (_, made) => {
    const world = createMemoryWorld()
    const plan = world.purchase(1n)
    const hash = made(world, plan)
    const { wallet } = world.walletOf(reporting(() => receiptOf(hash)))
    const error = await failureOf(world.client.execute(plan, wallet, { confirmationMs: 1_500 }))
    expect(error).toMatchObject({ code: 'not_confirmed', batchId: '0xabc', hash })
    expect(error.message).toContain('does not do all that the plan does')
  })

  test('is from before the plan', async () => {
    const world = createMemoryWorld()
    const hash = world.mine(
      FROM,
      world.purchase(1n).steps.map(({ transaction }) => transaction),
    )
    const { wallet } = world.walletOf(reporting(() => receiptOf(hash)))
    const error = await failureOf(world.client.execute(world.purchase(1n), wallet, { confirmationMs: 1_500 }))
    expect(error).toMatchObject({ code: 'not_confirmed', hash })
  })

  test('is in the block of the plan, and not in the one after it', async () => {
    for (const [later, code] of [
      [0, 'not_confirmed'],
      [1, undefined],
    ] as const) {
      const world = createMemoryWorld()
      const plan = world.purchase(1n)
      const hash = world.mine(
        FROM,
        plan.steps.map(({ transaction }) => transaction),
      )
      world.onReport((own) => ({ ...own, block: blockAt(plan.block.number + later) }))
      const { wallet } = world.walletOf(reporting(() => receiptOf(hash)))
      const execution = world.client.execute(plan, wallet, { confirmationMs: 1_500 })
      if (code === undefined) expect((await execution).positionIds).toEqual([1])
      else expect(await failureOf(execution)).toMatchObject({ code, hash })
    }
  })
})

describe('a step', () => {
  test.each([0, 1])('that fails after it was sent is found by what it did (step %s)', async (at) => {
    const { client, walletOf, purchase, positions } = createMemoryWorld()
    let steps = 0
    const answers: Answers = { eth_sendTransaction: (own) => (steps++ === at ? sendsAndFails(lost)(own) : own()) }
    const { positionIds, transactions } = await client.execute(purchase(1n), walletOf(answers, alone).wallet)
    expect([positionIds, transactions.length, positions.length]).toEqual([[1], 2, 1])
  })

  test('that the wallet answers with an unknown error is reported as uncertain before the search for it', async () => {
    const refuses = fault(-32603, 'Internal error')
    for (const [answer, expected] of [
      [refuses, ['uncertain']],
      [sendsAndFails(refuses), ['uncertain', 'sent']],
    ] as const) {
      const { client, walletOf, claims } = createMemoryWorld()
      const reports: string[] = []
      const { wallet } = walletOf({ eth_sendTransaction: answer }, alone)
      const execution = client.execute(claims(1), wallet, {
        confirmationMs: 1_500,
        onUncertain: (problem) => void reports.push(/Internal error/.test(String(problem)) ? 'uncertain' : 'other'),
        onSent: () => void reports.push('sent'),
      })
      await execution.catch(() => {})
      expect(reports).toEqual(expected)
    }
  })

  test('that the wallet certainly did not send is not reported as uncertain', async () => {
    const { client, walletOf, purchase } = createMemoryWorld()
    const problems: unknown[] = []
    const { wallet } = walletOf({ eth_sendTransaction: fault(4001) }, alone)
    const execution = client.execute(purchase(1n), wallet, { onUncertain: (problem) => void problems.push(problem) })
    expect(await failureOf(execution)).toMatchObject({ code: 'user_rejected' })
    expect(problems).toEqual([])
  })

  test.each([-32000, -32005, -32603])(
    'reported as the error %i is found, and not sent by another method',
    async (code) => {
      const { client, walletOf, purchase, positions } = createMemoryWorld()
      const failed = sendsAndFails(fault(code, 'request limit reached'))
      const made = walletOf({ eth_sendTransaction: failed, wallet_sendTransaction: (own) => own() }, alone)
      expect((await client.execute(purchase(1n), made.wallet)).positionIds).toEqual([1])
      expect(positions).toHaveLength(1)
      expect(made.requested).not.toContain('wallet_sendTransaction')
    },
  )

  test('with the hash of a Safe is followed by the transaction that executes it', async () => {
    const { client, walletOf, purchase } = createMemoryWorld()
    let steps = 0
    const answers: Answers = {
      eth_sendTransaction: async (own) => {
        const hash = await own()
        return steps++ === 0 ? hash : foreign
      },
    }
    const hashes: string[] = []
    const options = { onSent: (hash: string) => void hashes.push(hash) }
    const { positionIds, transactions } = await client.execute(purchase(1n), walletOf(answers, alone).wallet, options)
    expect(positionIds).toEqual([1])
    expect(hashes).toEqual([transactions[0]?.hash, foreign, transactions[1]?.hash])
  })

  test('with a nonce that was used is searched for 15 seconds, and then is the error of the wallet', async () => {
    const { client, walletOf, purchase, requested } = createMemoryWorld()
    const { wallet } = walletOf({ eth_sendTransaction: fault(-32000, 'nonce too low') }, alone)
    const began = Date.now()
    const error = await failureOf(client.execute(purchase(1n), wallet))
    expect(error).toMatchObject({ code: 'nonce_used', hint: expect.stringContaining('another transaction') })
    expect(Date.now() - began).toBe(15_000)
    // An approval is searched for in the logs of the node, and creates nothing that the API lists.
    expect(requested).toEqual([])
    const soon = Date.now()
    await failureOf(client.execute(purchase(1n), wallet, { confirmationMs: 900 }))
    expect(Date.now() - soon).toBe(900)
    const long = Date.now()
    await failureOf(client.execute(purchase(1n), wallet, { confirmationMs: 60_000 }))
    expect(Date.now() - long).toBe(15_000)
  })

  test('with a nonce that was used by the step itself is done', async () => {
    const { client, walletOf, purchase, positions } = createMemoryWorld()
    const { wallet } = walletOf({ eth_sendTransaction: sendsAndFails(fault(-32000, 'nonce too low')) }, alone)
    expect((await client.execute(purchase(1n), wallet)).positionIds).toEqual([1])
    expect(positions).toHaveLength(1)
  })
})

describe('a transaction that the wallet', () => {
  /** An execution of a single claim, which is replaced by another transaction of the account. */
  const replaced = async (replacement: (world: World, own: Transaction) => Hex) => {
    const world = createMemoryWorld()
    const plan = world.claims(1)
    let by: Hex | undefined
    world.onReport((own) => {
      if (own.hash === by) return own
      by ??= replacement(world, own)
      return transactionOf(own.hash, { status: 'pending', dropped: true, replacedBy: by })
    })
    const hashes: string[] = []
    const options = { onSent: (hash: string) => void hashes.push(hash) }
    const execution = world.client.execute(plan, world.walletOf({}, alone).wallet, options)
    return { execution, hashes, by: () => by }
  }

  test('speeds up is followed to the one that replaced it', async () => {
    const { execution, hashes, by } = await replaced(({ mine }, own) =>
      mine(
        FROM,
        [...own.logs].map(({ address, args }) => ({ to: address, function: 'claimPayout', args }) as never),
      ),
    )
    expect((await execution).transactions.map(({ hash }) => hash)).toEqual([by()])
    expect(hashes).toHaveLength(2)
    expect(hashes[1]).toBe(by())
  })

  test('cancels is an error with the code transaction_dropped and both hashes', async () => {
    const { execution, hashes, by } = await replaced(({ mine }) => mine(FROM, []))
    const error = await failureOf(execution)
    expect(error).toMatchObject({ code: 'transaction_dropped', hash: hashes[0] })
    expect(error.message).toContain(`replaced by ${by()}`)
  })
})

describe('a purchase with a log that the service does not know', () => {
  /** As after an upgrade of the protocol: what the purchase created is in the log. */
  const upgraded = (own: Transaction): Transaction => {
    if (own.created.positionIds.length === 0) return own
    const unknownLogs = [{ logIndex: 1, topics: [hashOf(7), pad(FROM)], data: hashOf(1), dataOmitted: 0 }]
    const { created } = transactionOf(own.hash)
    return { ...own, created, createdIncomplete: true, logs: [], unknownLogs }
  }

  test.each([true, false])('is done without an id, and marked as incomplete (batches: %s)', async (batches) => {
    const { client, walletOf, purchase, onReport } = createMemoryWorld()
    onReport(upgraded)
    const { positionIds, createdIncomplete } = await client.execute(purchase(1n), walletOf({}, { batches }).wallet)
    expect([positionIds, createdIncomplete]).toEqual([[], true])
  })

  test('is complete when every log is known', async () => {
    const { client, walletOf, purchase } = createMemoryWorld()
    expect(await client.execute(purchase(1n), walletOf().wallet)).toMatchObject({ createdIncomplete: false })
  })
})

test('a position is searched for in a list as of the block that the wallet knew before it was sent', async () => {
  const { client, walletOf, purchase, chain, requested } = createMemoryWorld()
  const plan = purchase(1n)
  chain.height += 5
  await client.execute(plan, walletOf({ wallet_sendCalls: sendsAndFails(lost), wallet_getCallsStatus: lost }).wallet)
  const lists = requested.filter((path) => path.startsWith('/v1/hedge/positions'))
  expect(lists.map((path) => new URL(path, 'http://api.example').searchParams.get('minBlock'))).toEqual(['105'])
})

describe('a bundle of user operations', () => {
  const bundled = (sender: string, revert: Transaction['userOperations'][number]['revert'] = null) => {
    const world = createMemoryWorld()
    const operation = {
      entryPoint: TOKEN,
      hash: foreign,
      sender: sender as Hex,
      nonce: 1n,
      success: false,
      revert,
    } as const
    world.onReport((own) => ({ ...own, userOperations: [operation] }))
    return world.client.execute(world.purchase(1n), world.walletOf({}, { atomic: true }).wallet)
  }

  test('in which an operation of another account failed is a success', async () => {
    expect((await bundled(other)).positionIds).toEqual([1])
  })

  test('in which the operation of the wallet failed is a failure, with the hash and the id of the batch', async () => {
    const known = { batchId: expect.any(String), hash: expect.any(String) }
    expect(await failureOf(bundled(FROM))).toMatchObject({ code: 'reverted_without_reason', ...known })
    const revert = { code: 'event_expired', reason: 'Expired', hint: 'Choose another event.' }
    const error = await failureOf(bundled(FROM.toUpperCase().replace('0X', '0x'), revert))
    expect(error).toMatchObject({ code: 'event_expired', hint: revert.hint, ...known })
    expect(error.message).toContain('reverted: Expired')
  })
})

describe('the API fails during the wait', () => {
  const failingWorld = (times: number) => {
    const world = createMemoryWorld()
    let failed = 0
    const fetch = async (url: string | URL | Request): Promise<Response> => {
      if (String(url).includes('/v1/transactions/') && failed++ < times) throw new TypeError('fetch failed')
      return world.api(url)
    }
    return { ...world, client: createClient({ baseUrl: 'http://api.example', attempts: 1, fetch }) }
  }

  test('a moment without the API does not end the execution', async () => {
    const { client, walletOf, purchase } = failingWorld(5)
    expect((await client.execute(purchase(1n), walletOf().wallet)).positionIds).toEqual([1])
  })

  test('an API that stays away ends it with the hash and the reason', async () => {
    const { client, walletOf, purchase } = failingWorld(Number.POSITIVE_INFINITY)
    const error = await failureOf(client.execute(purchase(1n), walletOf().wallet, { confirmationMs: 1_500 }))
    const known = { hash: expect.stringMatching(/^0x/), batchId: expect.any(String) }
    expect(error).toMatchObject({ code: 'not_confirmed', ...known, cause: { code: 'network_error' } })
    expect(error.message).toContain('could not be read for 1500 ms')
  })

  test('an answer that no repetition changes ends it at once, and the error has what is known', async () => {
    const world = createMemoryWorld()
    const fetch = async (): Promise<Response> =>
      Response.json({ error: { code: 'validation_error', message: 'why' } }, { status: 400 })
    const client = createClient({ baseUrl: 'http://api.example', fetch })
    const began = Date.now()
    const error = await failureOf(client.execute(world.purchase(1n), world.walletOf().wallet))
    const known = { hash: expect.stringMatching(/^0x/), batchId: expect.any(String) }
    expect(error).toMatchObject({ code: 'not_confirmed', ...known, cause: { code: 'validation_error' } })
    expect(Date.now() - began).toBeLessThan(100)
  })
})

test('a transaction is waited for without a plan, on its own chain', async () => {
  const { client, mine, requested } = createMemoryWorld()
  const hash = mine(FROM, [])
  expect((await client.waitForTransaction(CHAIN, hash)).hash).toBe(hash)
  expect(requested).toEqual([`/v1/transactions/${CHAIN}/${hash}?waitMs=5000`])
  const error = await failureOf(client.waitForTransaction(CHAIN, foreign, { confirmationMs: 500 }))
  expect(error).toMatchObject({ code: 'not_confirmed', hash: foreign, hint: expect.stringContaining('Safe') })
})
