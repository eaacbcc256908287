import type { ExecuteOptions, Plan, Wallet } from 'fx-protection-client'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { useFastClock } from '../support/fast-clock.ts'
import { blockAt, FROM, hashOf, TOKEN } from '../support/memory-chain.ts'
import { type Answers, createMemoryWorld, DENIES, failureOf } from '../support/memory-wallet.ts'
import { fault, lost } from '../support/wallet-answers.ts'

/* What `execute` sends, in which order, and what it sends no more after an abort or a refusal. */

beforeAll(useFastClock)
afterAll(() => void vi.useRealTimers())

const alone = { batches: false }
const SENDS = ['eth_sendTransaction', 'wallet_sendCalls']

/** The methods that a wallet is asked for during an execution, and the error of it, if any. */
const executed = async (
  answers: Answers,
  options: { readonly batches?: boolean; readonly atomic?: boolean },
  given: ExecuteOptions = {},
) => {
  const { client, walletOf, purchase, positions } = createMemoryWorld()
  const made = walletOf(answers, options)
  const error = await client.execute(purchase(1n), made.wallet, given).catch((failure: unknown) => failure)
  return { ...made, error, positions }
}

describe('an abort', () => {
  const reason = new Error('the page closes')
  const methods = {
    batch: [
      'eth_chainId',
      'wallet_getCapabilities',
      'eth_getBlockByNumber',
      'wallet_sendCalls',
      'wallet_getCallsStatus',
    ],
    steps: ['eth_chainId', 'wallet_getCapabilities', 'eth_getBlockByNumber', 'eth_sendTransaction'],
  }

  /** Aborts at the nth request of a method, before or after its answer. */
  const abortAt = async (method: string, nth: number, options: { batches?: boolean }, isAnswered: boolean) => {
    const leaving = new AbortController()
    let asked = 0
    const answers: Answers = {
      [method]: async (own) => {
        asked += 1
        if (asked !== nth) return own()
        if (!isAnswered) leaving.abort(reason)
        return own().finally(() => leaving.abort(reason))
      },
    }
    const result = await executed(answers, options, { signal: leaving.signal, confirmationMs: 60_000 })
    return { ...result, asked }
  }

  const points = [
    ...methods.batch.map((method) => ({ method, nth: 1, batches: true })),
    ...methods.steps.map((method) => ({ method, nth: 1, batches: false })),
    ...['eth_chainId', 'eth_getBlockByNumber', 'eth_sendTransaction'].map((method) => ({
      method,
      nth: 2,
      batches: false,
    })),
    { method: 'eth_chainId', nth: 3, batches: false },
  ]
  test.each(points.flatMap((point) => [true, false].map((isAnswered) => ({ ...point, isAnswered }))))(
    'at request $nth of $method ends the execution, and nothing is sent after it (batches: $batches, answered: $isAnswered)',
    async ({ method, nth, batches, isAnswered }) => {
      const { requested, error, asked } = await abortAt(method, nth, { batches }, isAnswered)
      expect(asked).toBe(nth)
      // Of its wallet, nothing more is asked at all.
      const at = requested.map((each, place) => (each === method ? place : -1)).filter((place) => place !== -1)[nth - 1]
      expect(requested.slice((at ?? 0) + 1)).toEqual([])
      const isHanded = [...SENDS, 'wallet_getCallsStatus'].includes(method)
      if (isHanded) expect(error).toMatchObject({ code: 'aborted', cause: reason })
      else expect(error).toBe(reason)
    },
  )

  test('of a signal that is aborted already sends and asks nothing', async () => {
    const { requested, error } = await executed({}, {}, { signal: AbortSignal.abort(reason) })
    expect([requested, error]).toEqual([[], reason])
    const { client, walletOf, planOf } = createMemoryWorld()
    const execution = client.execute(planOf(), walletOf().wallet, { signal: AbortSignal.abort(reason) })
    await expect(execution).rejects.toBe(reason)
  })

  test.each([
    ['a batch', 'wallet_sendCalls', true],
    ['a transaction', 'eth_sendTransaction', false],
  ])('while the wallet shows the request of %s does not deny it', async (_, method, batches) => {
    const leaving = new AbortController()
    const answers: Answers = {
      [method]: () => {
        leaving.abort(reason)
        return new Promise(() => {})
      },
    }
    const { error } = await executed(answers, { batches }, { signal: leaving.signal })
    expect(error).toMatchObject({ code: 'aborted', cause: reason })
    expect(Object(error).batchId === undefined).toBe(!batches)
    expect(Object(error).message).toContain('the wait for the wallet to send')
    expect(`${Object(error).message} ${Object(error).hint}`).not.toMatch(DENIES)
  })

  test('during the wait leaves the id of the batch, or the hash, in the error', async () => {
    const stop = new AbortController()
    const pending: Answers = { wallet_getCallsStatus: async () => ({ status: 100 }) }
    const batch = await executed(pending, {}, { signal: stop.signal, onBatch: () => stop.abort(reason) })
    expect(batch.error).toMatchObject({ code: 'aborted', batchId: expect.any(String), hash: undefined, cause: reason })
    const end = new AbortController()
    const safe: Answers = { eth_sendTransaction: async () => hashOf(0x5a) }
    const step = await executed(safe, alone, { signal: end.signal, onSent: () => end.abort(reason) })
    expect(step.error).toMatchObject({ code: 'aborted', hash: hashOf(0x5a), batchId: undefined, cause: reason })
    expect(Object(step.error).message).toContain(`transaction ${hashOf(0x5a)} was aborted`)
  })

  test('during the search for a used nonce is not reported as the nonce', async () => {
    const stop = new AbortController()
    const answers: Answers = {
      eth_sendTransaction: fault(-32000, 'nonce too low'),
      eth_getLogs: async (own) => {
        stop.abort(reason)
        return own()
      },
    }
    const { error } = await executed(answers, alone, { signal: stop.signal })
    expect(error).toMatchObject({ code: 'aborted', cause: reason })
  })
})

describe('an execution', () => {
  test('of single steps asks for the chain before each, and for the newest block', async () => {
    const { requested } = await executed({}, alone)
    const step = ['eth_chainId', 'eth_getBlockByNumber', 'eth_sendTransaction']
    expect(requested).toEqual(['eth_chainId', 'wallet_getCapabilities', ...step, ...step])
  })

  test('without batches does not ask for the capabilities of the wallet', async () => {
    const { requested, positions } = await executed({}, {}, { batch: false })
    expect(requested).not.toContain('wallet_getCapabilities')
    expect(requested.filter((method) => SENDS.includes(method))).toEqual(['eth_sendTransaction', 'eth_sendTransaction'])
    expect(positions).toHaveLength(1)
  })

  test.each([
    ['before the first step', 1, 0],
    ['before the first step, after the capabilities', 2, 0],
    ['between two steps', 3, 1],
  ])('on another chain is refused before it sends: %s', async (_, nth, sends) => {
    let asked = 0
    const answers: Answers = { eth_chainId: (own) => (++asked >= nth ? '0x38' : own()) }
    const { error, sent } = await executed(answers, alone)
    expect(error).toMatchObject({ code: 'wrong_chain', hint: 'Switch the wallet to chain 8453.' })
    expect(sent).toHaveLength(sends)
  })

  test('of a wallet that does not say its chain fails as the wallet does', async () => {
    const { error, sent } = await executed({ eth_chainId: lost }, {})
    expect([Object(error).code, sent]).toEqual(['wallet_failed', []])
    const began = Date.now()
    const silent = await executed({ eth_chainId: () => new Promise(() => {}) }, {})
    expect([Object(silent.error).code, Date.now() - began]).toEqual(['wallet_failed', 5_000])
  })

  test('waits a quarter of an hour for the user, and then for what the wallet may have sent', async () => {
    const began = Date.now()
    const { error } = await executed({ wallet_sendCalls: () => new Promise(() => {}) }, {}, { confirmationMs: 1_000 })
    expect(error).toMatchObject({ code: 'not_confirmed', batchId: expect.any(String) })
    expect(Date.now() - began).toBe(901_000)
  })

  test('ends after three minutes unless it is given another time', async () => {
    const answers: Answers = {
      wallet_getCallsStatus: async () => ({ status: 100 }),
      wallet_sendCalls: async () => '0x1',
    }
    const began = Date.now()
    expect((await executed(answers, {})).error).toMatchObject({ code: 'not_confirmed' })
    expect(Date.now() - began).toBe(180_000)
  })

  test('of a step that the user rejects sends no further one', async () => {
    const { error, requested } = await executed({ eth_sendTransaction: fault(4001) }, alone)
    expect(error).toMatchObject({ code: 'user_rejected' })
    expect(requested.filter((method) => SENDS.includes(method))).toEqual(['eth_sendTransaction'])
  })

  test('has the ids that the wallet of the plan owns, in any letter case', async () => {
    const { client, walletOf, purchase, onReport } = createMemoryWorld()
    const upper = FROM.replace('f1', 'F1') as typeof FROM
    onReport((own) => ({
      ...own,
      created: {
        eventIds: [{ id: 3, owner: TOKEN }],
        depositIds: [{ id: 4, owner: upper }],
        positionIds: [...own.created.positionIds, { id: 9, owner: TOKEN }],
      },
    }))
    const { eventIds, depositIds, positionIds } = await client.execute(
      purchase(1n),
      walletOf({}, { atomic: true }).wallet,
    )
    expect([eventIds, depositIds, positionIds]).toEqual([[], [4], [1]])
  })
})

describe('a plan is refused before the wallet is asked', () => {
  const refused = async (plan: Plan, wallet?: Wallet) => {
    const { client, walletOf } = createMemoryWorld()
    const made = walletOf()
    const error = await failureOf(client.execute(plan, wallet ?? made.wallet))
    expect(made.requested).toEqual([])
    return error
  }
  const plan = createMemoryWorld().purchase(1n)

  test('when it has no transaction, with its first blocking issue', async () => {
    const issue = (code: string, blocking: boolean) => ({
      code,
      message: `the ${code}`,
      hint: `mend ${code}`,
      blocking,
    })
    expect(await refused({ ...plan, steps: [] })).toMatchObject({ code: 'nothing_to_do' })
    const issues = [issue('warning', false), issue('paused', true), issue('later', true)]
    const known = { code: 'paused', message: 'the paused', hint: 'mend paused' }
    expect(await refused({ ...plan, walletCalls: null, issues })).toMatchObject(known)
    expect(await refused({ ...plan, steps: [], issues })).toMatchObject(known)
  })

  test('when it is of another account, or the wallet has none', async () => {
    expect(await refused({ ...plan, from: TOKEN })).toMatchObject({ code: 'wrong_account' })
    const none = { request: () => expect.unreachable(), sendTransaction: () => expect.unreachable() }
    expect((await refused(plan, none)).message).toContain('no account')
  })

  test('and not when only the letter case of the account differs', async () => {
    const { client, walletOf, purchase } = createMemoryWorld()
    const upper = { ...purchase(1n), from: FROM.replace('f1', 'F1') as typeof FROM }
    expect((await client.execute(upper, walletOf().wallet)).positionIds).toEqual([1])
  })
})

describe('a plan that has ended', () => {
  /** Executes a purchase after block 100 that ends with the time of a block. The approval is in block 101. */
  const endingAt = async (block: number, answers: Answers, options: { readonly batches: boolean }) => {
    const { client, walletOf, purchase, chain } = createMemoryWorld()
    const plan = purchase(1n)
    const { wallet, requested } = walletOf(answers, options)
    chain.height = 102
    const ending = { ...plan, validUntil: { ...plan.validUntil, timestamp: blockAt(block).timestamp } }
    const outcome = client.execute(ending, wallet).then(
      ({ positionIds }) => positionIds,
      ({ code }) => code,
    )
    return [await outcome, requested.filter((method) => SENDS.includes(method)).length]
  }

  test.each([
    [102, 'past_deadline', 0],
    [103, 'past_deadline', 1],
    [104, [1], 2],
  ])('with block %i: single steps after it are not sent', async (block, outcome, sent) => {
    expect(await endingAt(block, {}, alone)).toEqual([outcome, sent])
  })

  test('is sent as a batch only before its end, or when the wallet knows the batch', async () => {
    const batches = { batches: true }
    expect(await endingAt(103, {}, batches)).toEqual([[1], 1])
    expect(await endingAt(102, {}, batches)).toEqual(['past_deadline', 0])
    const known: Answers = { wallet_getCallsStatus: async (own) => own().catch(() => ({ status: 100, receipts: [] })) }
    expect((await endingAt(102, known, batches))[1]).toBe(1)
  })
})

describe('the newest block of a wallet counts when it is plausible', () => {
  /** The first block whose logs are searched for a step that the wallet does not give the hash of. */
  const searched = async (newest: unknown): Promise<number> => {
    let from = 0
    const answers: Answers = {
      eth_getBlockByNumber: async () => ({ number: newest }),
      eth_sendTransaction: lost,
      eth_getLogs: (own, [filter]) => {
        from = Number(Object(filter).fromBlock)
        return own()
      },
    }
    await executed(answers, alone, { confirmationMs: 600 })
    return from
  }
  // The block of the plan is 100.
  test.each([
    ['0x65', 102],
    ['0x64', 101],
    ['0x63', 101],
    [`0x${(100_099).toString(16)}`, 100_100],
    [`0x${(100_100).toString(16)}`, 101],
    ['soon', 101],
  ])('%s: logs are searched from block %i on', async (newest, from) => {
    expect(await searched(newest)).toBe(from)
  })
})
