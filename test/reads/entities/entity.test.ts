import { zeroAddress } from 'viem'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { NodeError, noBytes } from '../../../src/chain/rpc/errors.ts'
import { ServiceError, unavailable } from '../../../src/lib/errors.ts'
import { type Call, call } from '../../../src/protocol/abi/outputs.ts'
import { ownerSlot, pendingOwnerSlot, type Slot } from '../../../src/protocol/abi/slots.ts'
import { entity, fromChain } from '../../../src/reads/entities/entity.ts'
import * as viewSet from '../../../src/reads/entities/view-sets.ts'
import type { ReadSources } from '../../../src/reads/read.ts'
import { reads } from '../../../src/reads/table/table.ts'
import { blockOf, seedDeployment, walletOf } from '../../support/seed-index.ts'

/* Single reads over a fake chain, which sees every view that is called and at which block. */

type Outcome = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: NodeError }
const ok = (value: unknown): Outcome => ({ ok: true, value })
const fails = (error = new NodeError({ code: 3, message: 'execution reverted', data: '0x' })): Outcome => ({
  ok: false,
  error,
})
const facet = walletOf(3)
const block = blockOf(70n)

/** The outcomes of views by their names; a slot has the name `slot`. */
const sourcesWith = (
  outcomes: Readonly<Record<string, Outcome>>,
  options: {
    profile?: 'reference' | 'deployed'
    down?: boolean
    queries?: object
    /** The outcomes of slots by their positions. */
    words?: ReadonlyMap<string, Outcome>
  } = {},
) => {
  const called: string[][] = []
  const { profile = 'reference', down = false, queries = {}, words } = options
  const sources = {
    queries,
    maxLagSeconds: 60,
    chains: new Map([
      [
        8453,
        {
          deployment: { ...seedDeployment(8453), profile },
          pinned: async (run: (block: object) => unknown) => {
            if (down) throw unavailable('no node is in reach')
            return run(block)
          },
          readAt: async (at: { readonly hash: string }, views: readonly Partial<Call & Slot>[]) => {
            expect(at.hash).toBe(block.hash)
            called.push(views.map(({ name = 'slot' }) => name))
            return views.map(({ name = 'slot', position = '' }) => words?.get(position) ?? outcomes[name] ?? fails())
          },
        },
      ],
    ]),
    indexed: async () => null,
  } as unknown as ReadSources
  return { sources, called }
}

const refusalOf = async (reading: Promise<unknown>): Promise<string> => {
  const error = await reading.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (!(error instanceof ServiceError)) throw new Error(`expected a refusal, got ${error}`)
  return `${error.code}: ${error.message}`
}

const key = { chainId: 8453, id: 7 }
const core = ok({ creator: walletOf(1) })
const record = (outputs: object, time: bigint) => ({ names: Object.keys(outputs), time })

describe('a read of the chain', () => {
  test('calls the named views and the one that shows the existence, once, at one block', async () => {
    const { sources, called } = sourcesWith({
      getHedgeEventCore: core,
      getHedgeEventStats: ok(1),
      facetAddress: ok(facet),
    })
    const answer = await fromChain(sources, viewSet.event, key, ['stats', 'core'], record)
    expect(called).toEqual([['getHedgeEventCore', 'getHedgeEventStats']])
    expect(answer).toEqual({
      data: { names: ['core', 'stats'], time: block.timestamp },
      freshness: { source: 'chain', block, stale: false },
    })
  })

  test('calls all views where none is named', async () => {
    const all = ['Core', 'Stats', 'Range'].map((name) => [`getHedgeEvent${name}`, ok({ creator: facet })] as const)
    const outcomes = { ...Object.fromEntries(all), getPoolUtilization: ok(1), getEventPaymentToken: ok(1) }
    const { sources, called } = sourcesWith(outcomes)
    await fromChain(sources, viewSet.event, key, undefined, record)
    expect(called[0]?.toSorted()).toEqual(Object.keys(outcomes).toSorted())
  })

  test('is missing for an identity of zeros and for a view that reverts, also if others fail', async () => {
    const missing = {
      missing: 'event 7 does not exist on chain 8453',
      freshness: { source: 'chain', block, stale: false },
    }
    const zeros = sourcesWith({ getHedgeEventCore: ok({ creator: zeroAddress }), facetAddress: ok(facet) })
    expect(await fromChain(zeros.sources, viewSet.event, key, ['stats'], record)).toEqual(missing)
    const reverts = sourcesWith({ facetAddress: ok(facet) })
    expect(await fromChain(reverts.sources, viewSet.event, key, ['stats'], record)).toEqual(missing)
  })

  test('fails when another view reverts for an entity that exists', async () => {
    const { sources } = sourcesWith({ getHedgeEventCore: core, facetAddress: ok(facet) })
    expect(await refusalOf(fromChain(sources, viewSet.event, key, ['stats'], record))).toMatch(/^upstream_error/)
  })

  test.each([
    ['by the loupe', ok(zeroAddress), fails()],
    ['by an answer without bytes', fails(), fails(noBytes())],
  ])('names a function that the proxy lacks, %s', async (_, facetAddress, getHedgeEventStats) => {
    const { sources, called } = sourcesWith({ getHedgeEventCore: core, facetAddress, getHedgeEventStats })
    expect(await refusalOf(fromChain(sources, viewSet.event, key, ['stats'], record))).toBe(
      'upstream_error: the protocol on chain 8453 has no function getHedgeEventStats, which every deployment of its kind must have',
    )
    expect(called[1]).toEqual(['facetAddress'])
  })

  test('is missing where deployments of its kind may lack the function', async () => {
    const proposal = { chainId: 8453, proposalId: `0x${'01'.repeat(32)}` } as const
    const lacking = { facetAddress: ok(zeroAddress) }
    const read = (profile: 'reference' | 'deployed') =>
      fromChain(sourcesWith(lacking, { profile }).sources, viewSet.proposal, proposal, undefined, record)
    expect(await read('deployed')).toMatchObject({ missing: 'the protocol on chain 8453 has no function getProposal' })
    const other = fromChain(
      sourcesWith(lacking, { profile: 'deployed' }).sources,
      viewSet.event,
      key,
      ['stats'],
      record,
    )
    expect(await refusalOf(other)).toContain('which every deployment of its kind must have')
    expect(await refusalOf(read('reference'))).toContain('getProposal, which every deployment')
  })

  test('reads the storage slot of a view that the proxy lacks', async () => {
    const { sources, called } = sourcesWith(
      { facetAddress: ok(zeroAddress), slot: ok(facet), pendingOwner: ok(zeroAddress) },
      { profile: 'deployed' },
    )
    const answer = await fromChain(
      sources,
      viewSet.administration,
      { chainId: 8453 },
      ['owner', 'pendingOwner'],
      (it) => it,
    )
    expect(answer).toMatchObject({ data: { owner: facet, pendingOwner: zeroAddress } })
    expect(called).toEqual([['owner', 'pendingOwner'], ['facetAddress'], ['slot']])
  })

  test('reads the owner and the pending owner from different slots', async () => {
    const words = new Map([
      [ownerSlot.position, ok(facet)],
      [pendingOwnerSlot.position, ok(walletOf(4))],
    ])
    const { sources } = sourcesWith({ facetAddress: ok(zeroAddress) }, { profile: 'deployed', words })
    const owners = ['owner', 'pendingOwner'] as const
    const answer = await fromChain(sources, viewSet.administration, { chainId: 8453 }, owners, (it) => it)
    expect(answer).toMatchObject({ data: { owner: facet, pendingOwner: walletOf(4) } })
  })

  test.each([
    [1n, { executeAfter: 1n }],
    [0n, undefined],
  ])('finds a proposal that can be executed after the time %i, where 0 is that of none', async (executeAfter, data) => {
    const { sources } = sourcesWith({ getProposal: ok({ executeAfter }) })
    const key = { chainId: 8453, proposalId: `0x${'07'.repeat(32)}` } as const
    const answer = await fromChain(sources, viewSet.proposal, key, undefined, ({ proposal }) => proposal)
    expect('data' in answer ? answer.data : undefined).toEqual(data)
  })

  test('refuses a quote whose product overflows, by the name of the notional', async () => {
    const panic = `0x4e487b71${'11'.padStart(64, '0')}` as const
    const quote = { ...key, hypoSettlement: 1n, notional: 2n }
    const { sources } = sourcesWith({
      ...{ getHedgeEventCore: core, facetAddress: ok(facet) },
      quoteRangePayout: fails(new NodeError({ code: 3, message: 'execution reverted', data: panic })),
    })
    expect(await refusalOf(fromChain(sources, viewSet.quote, quote, ['payout'], record))).toMatch(
      /^validation_error: notional/,
    )
    const other = sourcesWith({ getHedgeEventCore: core, facetAddress: ok(facet) })
    expect(await refusalOf(fromChain(other.sources, viewSet.quote, quote, ['payout'], record))).toMatch(
      /^upstream_error/,
    )
  })
})

describe('a read with the index as fallback', () => {
  const stored = { paused: true, fees: {}, total: 3n, observedAt: blockOf(60n) }
  const read = reads.find(({ path }) => path === '/hedge/paused/:chainId')
  const answerOf = (queries: object, down = true) => {
    const { sources } = sourcesWith({ isPaused: ok(false), facetAddress: ok(facet) }, { down, queries })
    return read?.answer(sources, { chainId: 8453 } as never) ?? Promise.reject(new Error('no such read'))
  }

  test('comes from the chain while a node answers', async () => {
    expect(await answerOf({ singleton: async () => stored }, false)).toMatchObject({
      ...{ data: false, freshness: { source: 'chain', stale: false } },
    })
  })

  test('is as of the block of the observation, and stale', async () => {
    expect(await answerOf({ singleton: async () => stored })).toEqual({
      ...{ data: true, freshness: { source: 'database', block: blockOf(60n), stale: true } },
    })
  })

  test('is out of reach with the error of the nodes where the index has nothing', async () => {
    for (const indexed of [null, blockOf(60n)])
      expect(await refusalOf(answerOf({ singleton: async () => null, indexed: async () => indexed }))).toBe(
        'service_unavailable: no node is in reach',
      )
  })

  test('is missing as of the newest indexed block where the index does not have the entity', async () => {
    const event = reads.find(({ path }) => path === '/hedge/positions/:chainId/:id')
    const queries = (indexed: unknown) => ({ position: async () => null, indexed: async () => indexed })
    const answer = (indexed: unknown) =>
      event?.answer(sourcesWith({}, { down: true, queries: queries(indexed) }).sources, key as never) ??
      Promise.reject(new Error('no such read'))
    expect(await answer(blockOf(61n))).toEqual({
      missing: 'position 7 does not exist on chain 8453',
      freshness: { source: 'database', block: blockOf(61n), stale: true },
    })
    expect(await refusalOf(answer(null))).toBe('service_unavailable: no node is in reach')
  })

  test('quotes a payout by the stored range, and refuses an overflow as the chain does', async () => {
    const range = { strike: 10n, payoutCap: 20n, initialRate: 5n, strikeAbove: true }
    const queries = { event: async () => ({ core: {}, range, observedAt: blockOf(60n) }) }
    const quote = reads.find(({ path }) => path === '/hedge/quote-payout/:chainId/:id')
    const ask = (notional: bigint, hypoSettlement = 15n) =>
      quote?.answer(sourcesWith({}, { down: true, queries }).sources, { ...key, hypoSettlement, notional } as never) ??
      Promise.reject(new Error('no such read'))
    expect(await ask(100n)).toMatchObject({ data: '100', freshness: { source: 'database', stale: true } })
    expect(await refusalOf(ask(2n ** 256n - 1n))).toMatch(/^validation_error: notional/)
  })
})

describe('a read', () => {
  const make = (path: `/${string}`, of: object = {}, row: object = {}) =>
    entity(path, 'Summary', {
      data: z.string(),
      of: { views: { paused: () => call('isPaused') }, ...of } as never,
      views: [] as never,
      record: () => '',
      ...row,
    })

  test('takes the chain as a parameter of the query only where the path has none', () => {
    expect(Object.keys(make('/x/:chainId').query.shape)).not.toContain('chainId')
    expect(Object.keys(make('/x').query.shape)).toContain('chainId')
  })

  test('has what its view set has, and nothing else', () => {
    const plain = make('/x/:chainId')
    expect(plain).toMatchObject({ paged: false })
    expect([Object.keys(plain).includes('resource'), Object.keys(plain).includes('settledAt')]).toEqual([false, false])
    expect(Object.keys(plain.query.shape)).not.toContain('at')
    const key = { chainId: 8453 } as never
    expect(plain.missing?.(key)).toBe('the protocol on chain 8453 has no such function')
    const [resource, settledAt] = [() => ({ keys: [] }), () => 7]
    const existence = { view: 'paused', holds: () => true, missing: () => 'no such pause' }
    const whole = make('/x/:chainId', { resource, existence, past: {} }, { settledAt })
    expect(whole).toMatchObject({ resource, settledAt })
    expect(Object.keys(whole.query.shape)).toContain('at')
    expect(whole.missing?.(key)).toBe('no such pause')
  })

  test('has a resource where the index has all that it shows', () => {
    const resources = reads.map(({ path, resource }) => [
      path,
      resource?.({ chainId: 8453, id: 7, eventId: 7, addr: walletOf(1) } as never).keys.toSorted() ?? null,
    ])
    const wallet = ['8453 *', `8453 wallet:${walletOf(1).toLowerCase()}`]
    const event = ['8453 *', '8453 event:7']
    const protocol = ['8453 *', '8453 protocol']
    expect(Object.fromEntries(resources.filter(([, keys]) => keys !== null))).toEqual({
      ...{ '/hedge/fees': protocol, '/hedge/paused/:chainId': protocol, '/hedge/events/:chainId/total': protocol },
      ...{ '/hedge/events/:chainId/:id': event, '/hedge/events/:chainId/:id/stats': event },
      ...{ '/hedge/events/:chainId/:id/range': event, '/hedge/events/:chainId/:id/utilization': event },
      ...{ '/hedge/events/:chainId/:id/positions': event, '/hedge/events/:chainId/:id/deposits': event },
      ...{ '/hedge/creators/:chainId/wallet/:addr': wallet, '/hedge/positions/:chainId/wallet/:addr': wallet },
      '/hedge/deposits/:chainId/wallet/:addr': wallet,
    })
  })
})
