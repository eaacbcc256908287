import type { Requests, Transaction } from 'fx-protection-client'
import { ApiError, ConnectionError } from 'fx-protection-client'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Effects } from '../../client/src/effects.ts'
import { type Handed, type Report, settle } from '../../client/src/settle.ts'
import { useFastClock } from '../support/fast-clock.ts'
import { blockAt, CHAIN, FROM, hashOf, transactionOf } from '../support/memory-chain.ts'
import { failureOf } from '../support/memory-wallet.ts'

/* The wait for what was handed to a wallet, with an API and a wallet whose answers a test sets. */

beforeAll(useFastClock)
afterAll(() => void vi.useRealTimers())

const [one, two, three] = [hashOf(0xa1), hashOf(0xa2), hashOf(0xa3)]
const done = (hash: string): Transaction =>
  transactionOf(hash, { status: 'succeeded', indexed: true, block: blockAt(101) })
const reverted = (hash: string): Transaction => transactionOf(hash, { status: 'reverted', block: blockAt(101) })
const pending = (hash: string): Transaction => transactionOf(hash, { status: 'pending' })

type Asked = { readonly hash: string; readonly waitMs: number; readonly at: number }

/** An API that answers about a hash, and what it was asked. */
const apiOf = (answer: (hash: string, nth: number) => Transaction) => {
  const began = Date.now()
  const asked: Asked[] = []
  const calls: object[] = []
  const get = async (_: string, { hash, waitMs }: Asked, call: object) => {
    asked.push({ hash, waitMs, at: Date.now() - began })
    calls.push(call)
    return { data: answer(hash, asked.filter((each) => each.hash === hash).length) }
  }
  return { api: { get } as unknown as Requests, asked, calls, tookMs: () => Date.now() - began }
}

/** Effects that count what they are asked for. */
const effectsOf = (given: Partial<Effects> = {}) => {
  const found: boolean[] = []
  const effects: Effects = {
    owns: () => true,
    covers: () => true,
    ...given,
    find: async (isConfirmed, ...others) => {
      found.push(isConfirmed)
      return given.find?.(isConfirmed, ...others)
    },
  }
  return { effects, found }
}

const handed = (fields: Partial<Handed>): Handed => ({ chainId: CHAIN, from: FROM, hashes: [], ...fields })

describe('the wait for a hash', () => {
  test('asks for half a minute for a transaction that a node has, for five seconds for another, and once each', async () => {
    const { api, asked, calls } = apiOf((hash, nth) => (nth < 3 ? pending(hash) : done(hash)))
    expect(await settle(api, handed({ hashes: [one] }), {})).toEqual([done(one)])
    expect(asked.map(({ waitMs }) => waitMs)).toEqual([5_000, 30_000, 30_000])
    expect(calls).toEqual([{ attempts: 1 }, { attempts: 1 }, { attempts: 1 }])
  })

  test('pauses for half a second, and for two after ten seconds, and ends at its time', async () => {
    const { api, asked, tookMs } = apiOf((hash) => transactionOf(hash))
    const error = await failureOf(settle(api, handed({ hashes: [one] }), { confirmationMs: 14_700 }))
    const pauses = asked.map(({ at }, nth) => at - (asked[nth - 1]?.at ?? 0))
    expect(pauses).toEqual([0, ...Array.from({ length: 20 }, () => 500), 2_000, 2_000, 700])
    expect(asked.slice(-3).map(({ waitMs }) => waitMs)).toEqual([2_700, 700, 0])
    expect([tookMs(), error.code]).toEqual([14_700, 'not_confirmed'])
  })

  test('pauses longer while the API fails, up to four seconds, and shorter again after an answer', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(1)
    try {
      const { api, asked } = apiOf((hash, nth) => {
        if (nth <= 5 || nth === 7) throw new ConnectionError('down', { code: 'network_error' })
        return nth === 9 ? done(hash) : transactionOf(hash)
      })
      await settle(api, handed({ hashes: [one] }), {})
      const pauses = asked.map(({ at }, nth) => at - (asked[nth - 1]?.at ?? 0))
      expect(pauses).toEqual([0, 500, 1_000, 2_000, 4_000, 4_000, 2_000, 500, 2_000])
    } finally {
      vi.restoreAllMocks()
    }
  })

  test('is not over while the transaction is not indexed', async () => {
    const { api, asked } = apiOf((hash, nth) => ({ ...done(hash), indexed: nth > 2 }))
    await settle(api, handed({ hashes: [one] }), {})
    expect(asked).toHaveLength(3)
  })

  test('ends at once with a failure, and reports its reason', async () => {
    const revert = { code: 'event_expired', reason: 'Expired', hint: 'Choose another.', exact: true }
    const { api, tookMs } = apiOf((hash) => ({ ...reverted(hash), revert }))
    const error = await failureOf(settle(api, handed({ hashes: [one] }), {}))
    expect(error).toMatchObject({ code: 'event_expired', hint: 'Choose another.', hash: one })
    expect([error.message, tookMs()]).toEqual([`transaction ${one} reverted: Expired`, 0])
    const plain = apiOf(reverted)
    expect(await failureOf(settle(plain.api, handed({ hashes: [one] }), {}))).toMatchObject({
      code: 'reverted_without_reason',
      message: expect.stringContaining('does not report why'),
    })
  })

  test('ends with its signal, also during a pause', async () => {
    const stop = new AbortController()
    const { api, asked, calls } = apiOf((hash) => transactionOf(hash))
    setTimeout(() => stop.abort(new Error('stopped')), 700)
    await expect(settle(api, handed({ hashes: [one] }), { signal: stop.signal })).rejects.toThrow('stopped')
    expect(asked.map(({ at }) => at)).toEqual([0, 500])
    expect(calls[0]).toEqual({ attempts: 1, signal: stop.signal })
  })

  test('asks no more for a transaction that is done, and not before it is mined', async () => {
    const { api, asked } = apiOf((hash, nth) => {
      if (hash === one) return done(hash)
      return nth === 1 ? transactionOf(hash, { status: 'pending', indexed: true }) : done(hash)
    })
    await settle(api, handed({ hashes: [one, two] }), {})
    expect(asked.map(({ hash }) => hash)).toEqual([one, two, two])
  })

  test('ends at once with an answer that no repetition changes', async () => {
    const wrong = new ApiError(
      { code: 'validation_error', message: 'why' },
      { status: 400, requestId: undefined, retryAfterMs: undefined },
    )
    const { api, asked } = apiOf(() => {
      throw wrong
    })
    await expect(settle(api, handed({ hashes: [one] }), {})).rejects.toBe(wrong)
    expect(asked).toHaveLength(1)
  })

  test('keeps what it knows of a transaction while the API fails', async () => {
    const { api, asked } = apiOf((hash, nth) => {
      if (nth > 1) throw new ConnectionError('down', { code: 'network_error' })
      return pending(hash)
    })
    const error = await failureOf(settle(api, handed({ hashes: [one] }), { confirmationMs: 60_000 }))
    expect(error.message).toBe(`transaction ${one} is pending after 60000 ms`)
    expect(error.cause).toMatchObject({ code: 'network_error' })
    expect(asked[2]?.waitMs).toBe(30_000)
  })

  test('fails with an operation of its account, in any letter case, and not with one of another', async () => {
    const operation = { entryPoint: FROM, hash: two, sender: FROM, nonce: 1n, success: false, revert: null } as const
    const { api } = apiOf((hash) => ({ ...done(hash), userOperations: [operation] }))
    const upper = FROM.replace('f1', 'F1')
    const error = await failureOf(settle(api, handed({ hashes: [one], from: upper }), {}))
    expect(error.code).toBe('reverted_without_reason')
    expect(await settle(api, handed({ hashes: [one], from: hashOf(9) }), {})).toHaveLength(1)
  })

  test('of a hash that is none asks the API for nothing', async () => {
    const { api, asked } = apiOf(done)
    const error = await failureOf(settle(api, handed({ hashes: ['0x12'] }), { confirmationMs: 1_000 }))
    expect([error.hash, asked]).toEqual(['0x12', []])
  })
})

describe('a transaction that another one replaced', () => {
  const dropped = (hash: string, replacedBy: `0x${string}` | null) =>
    transactionOf(hash, { status: 'pending', dropped: true, replacedBy })

  test('is dropped after 15 seconds by an unknown one, and at once by a known one', async () => {
    const { api, tookMs } = apiOf((hash) => dropped(hash, null))
    const error = await failureOf(settle(api, handed({ hashes: [one] }), {}))
    expect(error).toMatchObject({ code: 'transaction_dropped', message: `transaction ${one} was replaced` })
    expect(tookMs()).toBe(16_000)
    const known = apiOf((hash) => dropped(hash, two))
    const other = await failureOf(settle(known.api, handed({ hashes: [one] }), {}))
    expect([other.message, known.asked.length]).toEqual([`transaction ${one} was replaced by ${two}`, 1])
  })

  test('is not dropped by reports that are not in a row', async () => {
    const { api } = apiOf((hash, nth) => {
      if (nth === 26) return done(hash)
      return nth === 20 ? pending(hash) : dropped(hash, null)
    })
    expect(await settle(api, handed({ hashes: [one] }), {})).toEqual([done(one)])
  })

  test.each([
    ['is mined and does the same', done(two), true, true],
    ['does something else', done(two), false, false],
    ['reverted', reverted(two), true, false],
  ])('is followed when that one %s', async (_, other, covers, isFollowed) => {
    const { api } = apiOf((hash) => (hash === one ? dropped(one, two) : other))
    const { effects } = effectsOf({ covers: (of) => of.some(({ hash }) => hash === two) && covers })
    const sent: string[] = []
    const execution = settle(api, handed({ hashes: [one], effects, onSent: (hash) => void sent.push(hash) }), {})
    if (isFollowed) expect(await execution).toEqual([other])
    else expect(await failureOf(execution)).toMatchObject({ code: 'transaction_dropped', hash: one })
    expect(sent).toEqual(isFollowed ? [one, two] : [one])
  })

  test('is followed next to the others of its batch', async () => {
    const { api } = apiOf((hash) => (hash === one ? dropped(one, two) : done(hash)))
    const { effects } = effectsOf({ covers: (of) => of.length === 2 })
    const report = async (): Promise<Report> => ({ hashes: [one, three], status: 200 })
    expect(await settle(api, handed({ batchId: '0xabc', report, effects }), {})).toEqual([done(three), done(two)])
    const { effects: all } = effectsOf()
    const mining = apiOf((hash) => (hash === one ? dropped(one, null) : done(hash)))
    const error = await failureOf(settle(mining.api, handed({ batchId: '0xabc', report, effects: all }), {}))
    expect(error).toMatchObject({ code: 'transaction_dropped', hash: one })
  })

  test('is followed until that one is indexed, through failures of the API', async () => {
    const { api, asked } = apiOf((hash, nth) => {
      if (hash === one) return dropped(one, two)
      if (nth === 2) throw new ConnectionError('down', { code: 'network_error' })
      return nth < 20 ? { ...done(two), indexed: false } : done(two)
    })
    const { effects, found } = effectsOf({ covers: (of) => of.some(({ hash }) => hash === two) })
    expect(await settle(api, handed({ hashes: [one], effects }), {})).toEqual([done(two)])
    expect(asked.filter(({ hash }) => hash === two)).toHaveLength(20)
    // Meanwhile what it did may be found in lists.
    expect(found.length).toBeGreaterThan(10)
  })

  test('is not known to have failed while that one is not mined', async () => {
    const { api } = apiOf((hash) => (hash === one ? dropped(one, two) : pending(two)))
    const { effects } = effectsOf({ covers: () => false })
    const error = await failureOf(settle(api, handed({ hashes: [one], effects }), { confirmationMs: 5_000 }))
    expect(error).toMatchObject({ code: 'not_confirmed', hash: two })
  })
})

test('a transaction that was replaced is searched for by its effects first', async () => {
  const { api } = apiOf((hash) => transactionOf(hash, { status: 'pending', dropped: true, replacedBy: two }))
  const { effects, found } = effectsOf({ find: async () => [done(two)] })
  expect(await settle(api, handed({ hashes: [one], effects }), {})).toEqual([done(two)])
  expect(found).toEqual([true])
})

test('a search by effects requires lists as of the newest block of a transaction that was seen', async () => {
  const { api } = apiOf((hash) => ({ ...reverted(hash), block: hash === one ? blockAt(107) : blockAt(105) }))
  const seen: unknown[] = []
  const { effects } = effectsOf({ find: async (...[, , seenBlock]) => void seen.push(seenBlock) })
  await failureOf(settle(api, handed({ hashes: [one, two], effects }), {}))
  await failureOf(settle(apiOf(pending).api, handed({ hashes: [one], effects }), { confirmationMs: 100 }))
  expect(seen).toEqual([107, 0])
})

test('what is not known in the end is the transaction that may still be mined, and not the one that failed', async () => {
  const { api } = apiOf((hash) => (hash === one ? reverted(hash) : pending(hash)))
  const report = async (): Promise<Report> => ({ hashes: [one, two], status: 100 })
  const error = await failureOf(settle(api, handed({ batchId: '0xabc', report }), { confirmationMs: 900 }))
  expect(error).toMatchObject({ code: 'not_confirmed', hash: two })
})

describe('the wait for a batch', () => {
  const batchId = '0xabc'
  /** Reports of a wallet in turn, the last one again and again. */
  const reporting = (...reports: readonly Report[]) => {
    let nth = 0
    return async (): Promise<Report> => reports[Math.min(nth++, reports.length - 1)] ?? { hashes: [] }
  }

  test('returns its transactions in the order of the wallet, each once, in any letter case', async () => {
    const { api, asked } = apiOf(done)
    const sent: string[] = []
    const report = reporting({ hashes: [two, one, two.toUpperCase().replace('0X', '0x')], status: 200 })
    const found = await settle(api, handed({ batchId, report, onSent: (hash) => void sent.push(hash) }), {})
    expect(found.map(({ hash }) => hash)).toEqual([two, one])
    expect([sent, asked.length]).toEqual([[two, one], 2])
  })

  test('goes on until all that was mined does all that the steps do', async () => {
    const { api } = apiOf(done)
    const seen: boolean[] = []
    const { effects } = effectsOf({
      covers: (of, isConfirmed) => {
        seen.push(isConfirmed)
        return of.length === 2
      },
    })
    const report = reporting({ hashes: [one], status: 100 }, { hashes: [one, two], status: 200 })
    expect(await settle(api, handed({ batchId, report, effects }), {})).toHaveLength(2)
    expect(seen).toEqual([false, true])
  })

  test.each([
    [199, false],
    [200, true],
    [299, true],
    [300, false],
  ])('takes the status %i for confirmed: %s', async (status, isConfirmed) => {
    const { api } = apiOf(done)
    const seen: boolean[] = []
    const { effects } = effectsOf({ covers: (_, it) => seen.push(it) > 0 })
    await settle(api, handed({ batchId, report: reporting({ hashes: [one], status }), effects }), {})
    expect(seen).toEqual([isConfirmed])
  })

  test.each([
    [399, 'not_confirmed', 1_000],
    [400, 'wallet_failed', 0],
    [499, 'wallet_failed', 0],
    [500, 'not_confirmed', 1_000],
  ])('with the status %i and no hash ends as %s after %i ms', async (status, code, ms) => {
    const { api, tookMs } = apiOf(done)
    const { effects, found } = effectsOf()
    const report = reporting({ hashes: [], status })
    const error = await failureOf(settle(api, handed({ batchId, report, effects }), { confirmationMs: 1_000 }))
    expect([error.code, error.batchId, tookMs()]).toEqual([code, batchId, ms])
    expect(found[0]).toBe(false)
  })

  test('with a status of a batch that was not sent is searched for, and never ends so after a hash or a lost answer', async () => {
    const { api } = apiOf((hash) => transactionOf(hash))
    const { effects } = effectsOf({ find: async () => [done(two)] })
    const sent: string[] = []
    const onSent = (hash: string) => void sent.push(hash)
    const report = reporting({ hashes: [], status: 400 })
    expect(await settle(api, handed({ batchId, report, effects, onSent }), {})).toEqual([done(two)])
    expect(sent).toEqual([two])
    for (const known of [{ problem: new Error('lost') }, { report: reporting({ hashes: [one], status: 400 }) }]) {
      const execution = settle(api, handed({ batchId, report, ...known }), { confirmationMs: 900 })
      expect((await failureOf(execution)).code).toBe('not_confirmed')
    }
  })

  test('fails only when no other transaction of it may still be mined, and its status is known', async () => {
    const both = { hashes: [one, two], status: 100 }
    const { api, asked } = apiOf((hash, nth) => {
      if (hash === one) return reverted(hash)
      return nth < 3 ? pending(hash) : done(hash)
    })
    const report = reporting(both, { ...both, status: 500 })
    const error = await failureOf(settle(api, handed({ batchId, report }), {}))
    expect([error.code, error.hash]).toEqual(['reverted_without_reason', one])
    expect(asked.filter(({ hash }) => hash === two)).toHaveLength(3)
    const open = apiOf(reverted)
    const never = settle(open.api, handed({ batchId, report: reporting({ hashes: [one], status: 100 }) }), {
      confirmationMs: 1_500,
    })
    expect(await failureOf(never)).toMatchObject({ code: 'reverted_without_reason', hash: one })
    expect(open.tookMs()).toBe(1_500)
  })

  test('is searched for by its effects at once when its status is final, and after ten seconds otherwise', async () => {
    for (const [status, firstAt] of [
      [200, 0],
      [100, 10_000],
    ] as const) {
      const { api, tookMs } = apiOf(done)
      const { effects } = effectsOf({ find: async () => [done(two)] })
      expect(await settle(api, handed({ batchId, report: reporting({ hashes: [], status }), effects }), {})).toEqual([
        done(two),
      ])
      expect(tookMs()).toBe(firstAt)
    }
  })

  test('is not searched for while one of its transactions is pending, until its time is over', async () => {
    const { api, tookMs } = apiOf(pending)
    const { effects, found } = effectsOf()
    const report = reporting({ hashes: [one], status: 200 })
    await failureOf(settle(api, handed({ batchId, report, effects }), { confirmationMs: 12_000 }))
    expect([found, tookMs()]).toEqual([[true], 12_000])
  })

  test('that is found by its effects returns its own transactions as well, each once', async () => {
    const four = hashOf(0xa4)
    const { api } = apiOf(done)
    const { effects } = effectsOf({
      covers: () => false,
      owns: ({ hash }) => hash !== three,
      find: async () => [done(two), done(four)],
    })
    const report = reporting({ hashes: [one, two, three], status: 200 })
    const found = await settle(api, handed({ batchId, report, effects }), {})
    expect(found.map(({ hash }) => hash)).toEqual([one, two, four])
  })

  test('that failed is searched for by its effects first', async () => {
    const { api } = apiOf(reverted)
    const { effects, found } = effectsOf({ find: async () => [done(two)] })
    const report = reporting({ hashes: [one], status: 500 })
    expect(await settle(api, handed({ batchId, report, effects }), {})).toEqual([done(two)])
    expect(found).toEqual([false])
  })
})
