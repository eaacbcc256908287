import { type Hex, toFunctionSelector, zeroAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openApp } from '../support/app.ts'
import { USDC, useProtocol } from '../support/use-protocol.ts'

/* Reads of the chain alone, after an upgrade removed a view that they need: an unknown id is a 404, and this is not. */

const REMOVE = 2

const protocols = { reference: await useProtocol(), deployed: await useProtocol('deployed') }

describe.each(['reference', 'deployed'] as const)('with the profile %s', (profile) => {
  const protocol = protocols[profile]
  const { owner, creator, hedger, send, read, client } = protocol
  let api: Awaited<ReturnType<typeof openApp>>
  beforeAll(async () => {
    api = await openApp({ nodes: [{ url: protocol.url, deployment: protocol.deployment }], headMaxAgeMs: 0 })
  })
  afterAll(() => api.close())

  const remove = async (...signatures: readonly string[]): Promise<void> => {
    const functionSelectors = signatures.map((signature): Hex => toFunctionSelector(signature))
    const { logs } = await send(owner, 'diamondCut', [
      [{ facetAddress: zeroAddress, action: REMOVE, functionSelectors }],
      zeroAddress,
      '0x',
    ])
    const queued = logs.find(([name]) => name === 'CutProposed')?.[1] as { proposalId: Hex; eta: bigint } | undefined
    if (queued === undefined) return
    await protocol.at(queued.eta)
    await send(owner, 'executeCut', [queued.proposalId])
  }

  const fill = async () => {
    const eventId = await protocol.create()
    await send(creator, 'setPoolSettings', [eventId, true, true])
    await protocol.buy(hedger, eventId, 100n * USDC)
  }

  const answerTo = async (path: string) => {
    const { status, error } = await api.get(path)
    return [status, error?.code, error?.message]
  }

  const gone = (name: string) => [
    502,
    'upstream_error',
    `the protocol on chain 8453 has no function ${name}, which every deployment of its kind must have`,
  ]

  /** Paths, with the first view that each needs. */
  const cases = {
    '/hedge/fees': 'getHedgeFeeConfig()',
    '/hedge/paused/8453': 'isPaused()',
    '/hedge/events/8453/1': 'getHedgeEventCore(uint256)',
    '/hedge/events/8453/1/stats': 'getHedgeEventCore(uint256)',
    '/hedge/events/8453/1/utilization': 'getHedgeEventCore(uint256)',
    '/hedge/events/8453/1/positions': 'getHedgeEventCore(uint256)',
    '/hedge/quote-payout/8453/1?hypoSettlement=12500000&notional=1': 'getHedgeEventCore(uint256)',
    '/hedge/positions/8453/1': 'getHedgePosition(uint256)',
    '/hedge/deposits/8453/1': 'getHedgeLpDeposit(uint256)',
    '/hedge/deposits/8453/1/pending': 'getHedgeLpDeposit(uint256)',
    '/oracle/config/8453': 'getOracleConfig()',
    [`/hedge/positions/8453/wallet/${hedger}`]: 'getHedgerPositionIds(address)',
  }

  test('a read whose view was removed is a 502 with the name of the function', async () => {
    await fill()
    for (const path of Object.keys(cases)) expect([path, (await api.get(path)).status]).toEqual([path, 200])
    await remove(...new Set(Object.values(cases)))
    for (const [path, signature] of Object.entries(cases))
      expect([path, await answerTo(path)]).toEqual([path, gone(signature.slice(0, signature.indexOf('(')))])
  })

  test('an unknown id stays a 404 when a view is removed that does not show whether it exists', async () => {
    await fill()
    await remove('pendingPremiums(uint256)', 'getHedgeEventStats(uint256)', 'getEventPositionIds(uint256)')
    expect(await answerTo('/hedge/deposits/8453/1')).toEqual(gone('pendingPremiums'))
    expect(await answerTo('/hedge/events/8453/1/positions')).toEqual(gone('getEventPositionIds'))
    for (const path of ['/hedge/deposits/8453/77', '/hedge/events/8453/77/stats', '/hedge/events/8453/77/positions'])
      expect([path, (await answerTo(path))[0]]).toEqual([path, 404])
  })

  test('a removed view is found without a loupe too, by the revert of the proxy', async () => {
    await fill()
    await remove('facetAddress(bytes4)', 'getHedgePosition(uint256)')
    expect(await answerTo('/hedge/positions/8453/1')).toEqual(gone('getHedgePosition'))
    expect((await answerTo('/hedge/deposits/8453/77')).slice(0, 2)).toEqual([404, 'not_found'])
  })

  test('a view whose facet has lost its code is a 502 with the name of the function', async () => {
    await fill()
    const facet = await read('facetAddress', [toFunctionSelector('getHedgePosition(uint256)')])
    await client.setCode({ address: facet, bytecode: '0x' })
    expect(await answerTo('/hedge/positions/8453/1')).toEqual(gone('getHedgePosition'))
  })

  test('a quote of the payout takes a uint256, and an overflow in the contract is a 400 that names the notional', async () => {
    await fill()
    const max = 2n ** 256n - 1n
    const path = (settlement: bigint, notional: bigint) =>
      `/hedge/quote-payout/8453/1?hypoSettlement=${settlement}&notional=${notional}`
    // The move of the event is at most 1.5, so that this product just fits.
    const most = max / 1_500_000n
    expect((await api.get(path(max, most))).data).toBe(String((most * 1_500_000n) / 11_400_000n))
    expect((await api.get(path(11_000_000n, max))).data).toBe('0')
    expect((await api.get(path(0n, max))).data).toBe('0')
    for (const [settlement, notional] of [
      [max, most + 1n],
      [12_000_002n, max],
    ] as const) {
      const { status, error } = await api.get(path(settlement, notional))
      expect([status, error?.code, error?.details?.[0]?.path]).toEqual([400, 'validation_error', 'notional'])
    }
    expect((await api.get(path(1n, max + 1n))).status).toBe(400)
  })
})
