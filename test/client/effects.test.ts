import { ApiError, ConnectionError, type Plan, type Requests, type Transaction } from 'fx-protection-client'
import { type Hex, pad } from 'viem'
import { describe, expect, test } from 'vitest'
import { effectsOf } from '../../client/src/effects.ts'
import { blockAt, createMemoryChain, DIAMOND, FROM, hashOf, TOKEN, transactionOf } from '../support/memory-chain.ts'

/* Whether a transaction did what the steps of a plan do, and the search for it. The block of the plans is 100. */

const other = '0x00000000000000000000000000000000000000f2'
const [one, two] = [hashOf(0xa1), hashOf(0xa2)]

type Log = Transaction['logs'][number]

const memory = createMemoryChain()
const purchase = memory.purchase(5n)
const claims = memory.claims(2)

const bought = (args: Log['args'] = {}, address: Hex = DIAMOND): Log => ({
  address,
  name: 'Bought',
  args: { positionId: 7, hedger: FROM, eventId: 1, notional: '5', ...args },
})

const mined = (hash: string, fields: Partial<Transaction> = {}): Transaction =>
  transactionOf(hash, { status: 'succeeded', indexed: true, block: blockAt(101), ...fields })

const creating = (fields: Partial<Transaction> = {}, owner: Hex = FROM): Transaction =>
  mined(one, {
    created: { eventIds: [], depositIds: [], positionIds: [{ id: 7, owner }] },
    logs: [bought()],
    ...fields,
  })

/** A log that the service does not know. */
const raw = (topics: Hex[] = [pad(FROM)], data: Hex = '0x', dataOmitted = 0): Partial<Transaction> => ({
  unknownLogs: [{ logIndex: 0, topics, data, dataOmitted }],
  createdIncomplete: true,
})

const open = (
  plan: Plan,
  {
    known = {},
    rows = [],
    logs = [],
    after = 100,
  }: { known?: Record<string, Transaction>; rows?: unknown; logs?: unknown; after?: number } = {},
) => {
  const asked: object[] = []
  const filters: object[] = []
  const get = async (path: string, params: { hash?: string }) => {
    asked.push({ path, ...params })
    if (params.hash !== undefined) return { data: known[params.hash] ?? transactionOf(params.hash) }
    if (rows instanceof Error) throw rows
    return { data: [...(rows as object[])] }
  }
  const readLogs = async (filter: object) => {
    filters.push(filter)
    return logs
  }
  const effects = effectsOf({ get } as unknown as Requests, plan, { steps: plan.steps, after, readLogs })
  return { ...effects, asked, filters }
}

describe('a transaction that creates a position is the purchase', () => {
  const { covers } = open(purchase)
  test.each<[string, Transaction, boolean]>([
    ['with the values of the call', creating(), true],
    ['with an owner in capital letters', creating({}, FROM.replace('f1', 'F1') as Hex), true],
    ['not for another owner', creating({}, other), false],
    ['not without a position', creating({ created: mined(one).created }), false],
    ['not in the block of the plan', creating({ block: blockAt(100) }), false],
    ['not without a block', creating({ block: null }), false],
    ['not of another notional', creating({ logs: [bought({ notional: '6' })] }), false],
    ['not of another event', creating({ logs: [bought({ eventId: 2 })] }), false],
    ['not when the log names another wallet', creating({ logs: [bought({ hedger: other })] }), false],
    ['not when the log shares no argument', creating({ logs: [{ ...bought(), args: { hedger: FROM } }] }), false],
    ['when one of several logs agrees', creating({ logs: [bought({ notional: '6' }), bought()] }), true],
    ['without logs, which only the index returns', creating({ logs: [] }), true],
    ['with logs of other contracts only', creating({ logs: [bought({ notional: '6' }, TOKEN)] }), true],
    ['when logs were left out', creating({ logs: [bought({ notional: '6' })], logsOmitted: 1 }), true],
    [
      'not of another notional, next to an unknown log',
      creating({ ...raw(), logs: [bought({ notional: '6' })] }),
      false,
    ],
  ])('%s', (_, transaction, isCovered) => {
    expect([covers([transaction], false), covers([transaction], true)]).toEqual([isCovered, isCovered])
    expect(covers([mined(two), transaction], true)).toBe(isCovered)
  })
})

describe('a transaction with an unknown log that creates nothing known is the purchase once it is confirmed', () => {
  const { covers } = open(purchase)
  const buy = { function: 'buyProtection', args: { eventId: 1, notional: '5', maxCost: '7' } }
  test.each<[string, Partial<Transaction>, boolean]>([
    ['when it made the call', { ...raw([]), calls: [buy] }, true],
    ['not when it made another call', { ...raw(), calls: [{ ...buy, args: { ...buy.args, notional: '6' } }] }, false],
    ['when the log names the wallet, as of a batch', raw(), true],
    ['when another log names the wallet', { ...raw([]), logs: [bought({}, TOKEN)] }, true],
    ['not when no log names the wallet', raw([pad(other)]), false],
    ['not in the block of the plan', { ...raw(), block: blockAt(100) }, false],
    ['not without an unknown log', { createdIncomplete: true, logs: [bought({}, TOKEN)] }, false],
  ])('%s', (_, fields, isCovered) => {
    expect([covers([mined(one, fields)], true), covers([mined(one, fields)], false)]).toEqual([isCovered, false])
  })
})

describe('transactions that create nothing are what the wallet confirms', () => {
  const { covers, owns } = open(claims)
  const claimOf = (positionId: number, hash: string, fields: Partial<Transaction> = {}) =>
    mined(hash, { logs: [{ address: DIAMOND, name: 'Claimed', args: { hedger: FROM, positionId } }], ...fields })
  const [first, second] = [claimOf(1, one), claimOf(2, two)]
  test('when each call was made', () => {
    expect([covers([first, second], true), covers([first, second], false)]).toEqual([true, false])
    expect([covers([first], true), covers([], true)]).toEqual([false, false])
    expect(covers([first, mined(hashOf(0xa3)), second], true)).toBe(true)
  })

  const transfer = { function: 'transfer', args: { to: other, value: '5' } }
  test.each<[string, Partial<Transaction>, boolean]>([
    ['a log of the wallet about something else', { logs: [{ ...bought({}, TOKEN) }] }, false],
    ['another claim of the wallet', claimOf(3, two), false],
    ['the same claim, in the block of the plan', { ...second, block: blockAt(100) }, false],
    ['an unknown log of the wallet', raw(), true],
    ['an unknown log of the wallet, and another call', { ...raw(), calls: [transfer] }, false],
    ['incomplete logs', { logsIncomplete: true }, true],
    ['a call of the plan', { calls: [{ function: 'claimPayout', args: { positionId: 2 } }] }, true],
  ])('and one with %s counts as one: %#', (_, fields, isDone) => {
    expect(covers([first, { ...mined(two), ...fields, hash: two }], true)).toBe(isDone)
  })

  const claim = { function: 'claimPayout', args: { positionId: 1, more: true } }
  const claimed = (args: Log['args'], address: Hex = DIAMOND) => ({ logs: [{ address, name: 'Claimed', args }] })
  test.each<[string, Partial<Transaction>, boolean]>([
    ['a log that names it', claimed({ hedger: FROM }, TOKEN), true],
    ['no log that names it', claimed({ hedger: other, positionId: 9 }), false],
    ['an entity that it owns', { created: creating().created }, true],
    ['an entity of another one', { created: creating({}, other).created }, false],
    ['incomplete logs', { logsIncomplete: true }, true],
    ['logs that were left out', { logsOmitted: 1 }, true],
    ['an unknown log with it in a topic', raw([hashOf(1), pad(FROM)]), true],
    ['an unknown log with it in capital letters', raw([], pad(FROM).replace('f1', 'F1') as Hex), true],
    ['an unknown log of another one', raw([pad(other)], pad(other)), false],
    ['an unknown log whose data is cut', raw([], '0x', 1), true],
    ['unknown logs that were left out', { unknownLogsOmitted: 1 }, true],
    ['no unknown logs, as of an older service', { unknownLogs: undefined as never }, false],
    ['a call of the plan', { calls: [claim] }, true],
    ['a call with other arguments', { calls: [{ ...claim, args: { positionId: 3 } }] }, false],
    ['a call of another function', { calls: [{ ...claim, function: 'claimPremiums' }] }, false],
    ['a log of the contract with all arguments of a call', claimed({ positionId: 2 }), true],
    ['such a log of another contract', claimed({ positionId: 2 }, TOKEN), false],
    ['a log that names it, in the block of the plan', { ...claimed({ hedger: FROM }), block: blockAt(100) }, false],
  ])('one with %s', (_, fields, isOwn) => {
    expect(owns(mined(one, fields))).toBe(isOwn)
  })
})

describe('a purchase is searched for in the newest positions of the wallet', () => {
  const row = (createdTx: string | null, fields: object = {}) => ({
    ...{ createdTx, createdBlock: 101, eventId: 1, notional: 5n },
    ...fields,
  })

  test('and is the oldest one that fits', async () => {
    const rows = [row(two), row(one), row(null)]
    const known = { [one]: creating(), [two]: { ...creating(), hash: two } }
    const { find, asked } = open(purchase, { rows, known })
    expect(await find(false, undefined)).toEqual([creating()])
    expect(asked[0]).toEqual({
      ...{ path: '/v1/hedge/positions', chainId: 8453, wallet: FROM, limit: 50, eventId: 1, minBlock: 100 },
    })
    expect(asked.slice(1)).toMatchObject([{ hash: one, waitMs: 0 }])
  })

  test('in a list that is not older than a block that was seen', async () => {
    const { find, asked } = open(purchase, { after: 150 })
    for (const seenBlock of [149, 151]) await find(false, undefined, seenBlock)
    expect(asked).toMatchObject([{ minBlock: 150 }, { minBlock: 151 }])
  })

  test('and has a transaction that created it by an unknown log', async () => {
    const transaction = mined(one, raw())
    const { find } = open(purchase, { rows: [row(one)], known: { [one]: transaction } })
    expect(await find(false, undefined)).toEqual([transaction])
  })

  test.each<[string, object, Transaction, number]>([
    ['of another notional', { notional: 6n }, creating(), 0],
    ['of another event', { eventId: 2 }, creating(), 0],
    ['of the block after which it was sent', { createdBlock: 100 }, creating(), 0],
    ['whose transaction is not indexed', {}, creating({ indexed: false }), 1],
    ['whose transaction created another one', {}, creating({ logs: [bought({ notional: '6' })] }), 1],
  ])('and not one %s', async (_, fields, transaction, lookups) => {
    const { find, asked } = open(purchase, { rows: [row(one, fields)], known: { [one]: transaction } })
    expect(await find(true, undefined)).toBeUndefined()
    expect(asked).toHaveLength(1 + lookups)
  })

  test('and is not found while the API fails; another error ends the search', async () => {
    const passing = open(purchase, { rows: new ConnectionError('down', { code: 'network_error' }) })
    expect(await passing.find(true, undefined)).toBeUndefined()
    const stop = AbortSignal.abort(new Error('stopped'))
    await expect(passing.find(true, stop)).rejects.toThrow('down')
    const details = { code: 'validation_error', message: 'why' } as const
    const wrong = new ApiError(details, { status: 400, requestId: undefined, retryAfterMs: undefined })
    await expect(open(purchase, { rows: wrong }).find(true, undefined)).rejects.toBe(wrong)
  })
})

describe('claims are searched for in the logs of the contract', () => {
  const log = (transactionHash: unknown, owner: Hex = FROM) => ({ transactionHash, topics: [hashOf(1), pad(owner)] })
  const own = (hash: string, positionId = hash === one ? 1 : 2) =>
    mined(hash, { logs: [{ address: DIAMOND, name: 'Claimed', args: { hedger: FROM, positionId } }] })
  const three = hashOf(0xa3)
  const known = { [one]: own(one), [two]: own(two), [three]: own(three, 9) }

  test('after the block, once the wallet confirms them', async () => {
    const { find, filters, asked } = open(claims, { logs: [log(one), log(two), log(one)], known, after: 255 })
    expect(await find(false, undefined)).toBeUndefined()
    expect([filters, asked]).toEqual([[], []])
    expect(await find(true, undefined)).toEqual([own(one), own(two)])
    expect(filters).toEqual([{ address: [DIAMOND], fromBlock: '0x100', toBlock: 'latest' }])
    expect(asked).toHaveLength(2)
  })

  test('and what else the wallet did is left out', async () => {
    const logs = [log(three), log(hashOf(0xa4)), log(one), log(two)]
    expect(await open(claims, { logs, known }).find(true, undefined)).toEqual([own(one), own(two)])
    expect(await open(claims, { logs: [log(one), log(three)], known }).find(true, undefined)).toBeUndefined()
  })

  test.each<[string, unknown]>([
    ['there are fewer than claims', [log(one)]],
    ['some are of another wallet', [log(one), log(two, other)]],
    ['one transaction is not known', [log(one), log(hashOf(0xa3))]],
    ['they have no topics', [{ transactionHash: one }, { transactionHash: two }]],
    ['they have no hash', [log(7), log(8)]],
    ['the node returns nonsense', 'none'],
    ['the node returns nothing', undefined],
  ])('and are not found when %s', async (_, logs) => {
    expect(await open(claims, { logs, known }).find(true, undefined)).toBeUndefined()
  })

  test('and not when one of the transactions is not of the wallet', async () => {
    const logs = [log(one), log(two)]
    expect(await open(claims, { logs, known: { ...known, [two]: mined(two) } }).find(true, undefined)).toBeUndefined()
  })
})
