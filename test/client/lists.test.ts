import { ApiError, type Reorg, ReorgError, type Requests } from 'fx-protection-client'
import { describe, expect, test } from 'vitest'
import { createInvolvement } from '../../client/src/involvement.ts'
import { listRows } from '../../client/src/lists.ts'

/* Lists of several pages, and the search for the wallets of an event. */

type AsOf = Omit<Reorg, 'type' | 'rowsBefore'> & { readonly reorgedSince: boolean }
type Page = { readonly data: readonly number[]; readonly nextCursor?: string | null; readonly asOf?: readonly AsOf[] }

/** An API that returns these pages in turn. */
const apiOf = (...pages: readonly Page[]) => {
  const asked: { readonly params: object; readonly call: unknown }[] = []
  const get = async (_: string, params: object, call: unknown) => {
    asked.push({ params, call })
    const { data, nextCursor = null, asOf } = pages[asked.length - 1] ?? { data: [] }
    return { data, meta: { nextCursor, ...(asOf && { asOf }) } }
  }
  return { api: { get } as unknown as Requests, asked }
}

const path = '/v1/hedge/positions'
const rowsOf = async (api: Requests, params: object, options?: Parameters<typeof listRows>[3]): Promise<unknown[]> => {
  const rows: unknown[] = []
  for await (const row of listRows(api, path, params as never, options)) rows.push(row)
  return rows
}

describe('a list', () => {
  test('has the rows of all its pages, and each request continues the one before', async () => {
    const { api, asked } = apiOf({ data: [1, 2], nextCursor: 'a' }, { data: [], nextCursor: 'b' }, { data: [3] })
    const signal = new AbortController().signal
    expect(await rowsOf(api, { chainId: 1 }, { signal, attempts: 2 })).toEqual([1, 2, 3])
    expect(asked.map(({ params }) => params)).toEqual([
      { limit: 200, chainId: 1 },
      { limit: 200, chainId: 1, cursor: 'a' },
      { limit: 200, chainId: 1, cursor: 'b' },
    ])
    expect(asked.map(({ call }) => call)).toEqual(Array.from({ length: 3 }, () => ({ signal, attempts: 2 })))
  })

  test('has the limit of the caller, and none when it names its rows', async () => {
    const { api, asked } = apiOf({ data: [1] })
    await rowsOf(api, { limit: 7 })
    await rowsOf(api, { ids: '1,2' })
    expect(asked.map(({ params }) => params)).toEqual([{ limit: 7 }, { ids: '1,2' }])
  })

  test('that is left asks for no further page', async () => {
    const { api, asked } = apiOf({ data: [1, 2], nextCursor: 'a' }, { data: [3] })
    for await (const _ of listRows(api, path, {} as never)) break
    expect(asked).toHaveLength(1)
  })

  test('without a description of its page is one page', async () => {
    const api = { get: async () => ({ data: [1] }) } as unknown as Requests
    expect(await rowsOf(api, {})).toEqual([1])
  })
})

describe('a reorg', () => {
  const asOf = (chainId: number, reorgedSince: boolean): AsOf => ({
    ...{ chainId, blockNumber: 100 + chainId, blockHash: `0x${chainId}`, reorgedSince },
  })
  const reorg = (chainId: number, rowsBefore: number): Reorg => ({
    ...{ type: 'reorg', chainId, blockNumber: 100 + chainId, blockHash: `0x${chainId}`, rowsBefore },
  })
  const pages: readonly Page[] = [
    { data: [1, 2], nextCursor: 'a', asOf: [asOf(1, false), asOf(2, false)] },
    { data: [3], nextCursor: 'b', asOf: [asOf(1, false), asOf(2, true)] },
    { data: [4], asOf: [asOf(1, true), asOf(2, true)] },
  ]

  test('is reported once per chain, before the rows of its page, and the list goes on', async () => {
    const { api } = apiOf(...pages)
    const seen: unknown[] = []
    for await (const row of listRows(api, path, {} as never, { onReorg: (it) => seen.push(it) })) seen.push(row)
    expect(seen).toEqual([1, 2, reorg(2, 2), 3, reorg(1, 3), 4])
  })

  test('ends a list that does not ask for it, with the rows before', async () => {
    const { api, asked } = apiOf(...pages)
    const rows: unknown[] = []
    const reading = (async () => {
      for await (const row of listRows(api, path, {} as never)) rows.push(row)
    })()
    const error = await reading.catch((fault: unknown) => fault)
    expect(error).toBeInstanceOf(ReorgError)
    expect(error).toMatchObject({ code: 'reorg', reorg: reorg(2, 2) })
    expect([rows, asked.length]).toEqual([[1, 2], 2])
  })
})

describe('a settlement concerns a wallet', () => {
  const settlement = (eventId: number, chainId = 1) => ({ chainId, eventId }) as never
  const wallets = Array.from({ length: 201 }, (_, at) => `0xA${at}`)

  /** An API in which one wallet has a position or deposit of event 3, which wallet 0xC created. */
  const involving = (owner: string, kind = 'positions') => {
    const asked: string[] = []
    const get = async (path: string, params: { wallet?: string[]; id?: number; limit?: number }) => {
      asked.push(`${path.split('/').at(-1)} ${params.wallet?.length ?? params.id} ${params.limit ?? ''}`.trim())
      if (params.wallet === undefined) return { data: { creator: '0xC' } }
      return { data: path.endsWith(kind) && params.wallet.includes(owner) ? [{}] : [] }
    }
    return { api: { get } as unknown as Requests, asked }
  }
  const { signal } = new AbortController()
  const event = '{id} 3'

  test('that is the creator, in any letter case', async () => {
    const { api, asked } = involving('')
    expect(await createInvolvement(api, ['0xB', '0xc'], signal)(settlement(3))).toBe(true)
    expect(asked).toEqual([event])
  })

  test.each([
    ['0xA0', 'positions', 1],
    ['0xA99', 'deposits', 1],
    ['0xA100', 'deposits', 2],
    ['0xA200', 'positions', 3],
    ['0xB', 'positions', 3],
  ])('%s with one of its %s: found among 201 wallets in %i requests of each list', async (owner, kind, count) => {
    const { api, asked } = involving(owner, kind)
    expect(await createInvolvement(api, wallets, signal)(settlement(3))).toBe(owner !== '0xB')
    const lists = [100, 100, 1].slice(0, count).flatMap((it) => [`positions ${it} 1`, `deposits ${it} 1`])
    expect(asked).toEqual([event, ...lists])
  })

  test('100 wallets are one request of each list', async () => {
    const { api, asked } = involving('0xB')
    expect(await createInvolvement(api, wallets.slice(0, 100), signal)(settlement(3))).toBe(false)
    expect(asked).toEqual([event, 'positions 100 1', 'deposits 100 1'])
  })

  test('once and for all, of one event on one chain', async () => {
    const { api, asked } = involving('0xA0')
    const isInvolved = createInvolvement(api, wallets, signal)
    expect([await isInvolved(settlement(3)), await isInvolved(settlement(3))]).toEqual([true, true])
    expect(asked).toHaveLength(3)
    await isInvolved(settlement(3, 2))
    await isInvolved(settlement(4))
    expect(asked).toHaveLength(9)
    const none = involving('')
    const isNever = createInvolvement(none.api, ['0xB'], signal)
    expect([await isNever(settlement(3)), await isNever(settlement(3))]).toEqual([false, false])
    expect(none.asked).toHaveLength(6)
  })

  test('when its event was removed, so that no reversal is missed; another failure is thrown', async () => {
    const failing = (code: 'not_found' | 'service_unavailable') => {
      const given = { status: 400, requestId: undefined, retryAfterMs: undefined }
      const get = () => Promise.reject(new ApiError({ code, message: 'why' } as never, given))
      return createInvolvement({ get } as unknown as Requests, ['0xB'], signal)(settlement(3))
    }
    expect(await failing('not_found')).toBe(true)
    await expect(failing('service_unavailable')).rejects.toThrow('why')
  })

  test('without a filter, and nothing is asked', async () => {
    const { api, asked } = involving('')
    expect(await createInvolvement(api, undefined, signal)(settlement(3))).toBe(true)
    expect(asked).toEqual([])
  })
})
