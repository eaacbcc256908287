import { type Logger, pino } from 'pino'
import { toFunctionSelector, zeroAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createChain } from '../../src/chain/chain.ts'
import { requireProfiles } from '../../src/compose/parts.ts'
import { createPricingClient } from '../../src/pricing/client.ts'
import type { Deployment } from '../../src/protocol/chains.ts'
import { createChecks } from '../../src/reads/health/checks.ts'
import { startAnvil } from '../../src/sandbox/parts/anvil.ts'
import { diamondFunctions } from '../../src/tx/builders.ts'
import { openApp } from '../support/app.ts'
import { findCalibrated, startEngine } from '../support/engine.ts'
import { useProtocol } from '../support/use-protocol.ts'

const reference = await useProtocol()
const deployed = await useProtocol('deployed')

const SIGNER = '0x1a642f0E3c3aF545E7AcBD38b07251B3990914F1'
const NOWHERE = 'http://127.0.0.1:9'

let engine: Awaited<ReturnType<typeof startEngine>>
let bnb: Awaited<ReturnType<typeof startAnvil>>
beforeAll(async () => {
  ;[engine, bnb] = await Promise.all([startEngine({ findSet: findCalibrated }), startAnvil({ chainId: 56 })])
})
afterAll(() => Promise.all([engine?.close(), bnb?.close()]))

const Line = z.looseObject({ level: z.int(), check: z.string().optional(), fault: z.string().optional() })

type Wrong = {
  readonly deployment?: Partial<Deployment>
  readonly rpcUrls?: readonly string[]
  readonly engineUrl?: string
}

/** Opens the checks of one chain, their results and their log lines. The test closes them. */
const open = (protocol: typeof reference, wrong: Wrong = {}) => {
  const lines: z.output<typeof Line>[] = []
  const stream = { write: (line: string) => void lines.push(Line.parse(JSON.parse(line))) }
  const log: Logger = pino({ level: 'info' }, stream)
  const chain = createChain({
    deployment: { ...protocol.deployment, ...wrong.deployment },
    rpcUrls: wrong.rpcUrls ?? [protocol.url],
    timeoutMs: 3_000,
    headMaxAgeMs: 1,
    log,
  })
  const pricing = createPricingClient({ url: wrong.engineUrl ?? engine.url, timeoutMs: 3_000 })
  const checks = createChecks({ chains: new Map([[8453, chain]]), pricing, writes: diamondFunctions, log })
  return {
    lines,
    states: () => Object.fromEntries(checks.of(8453).map(({ check, result }) => [check, result])),
    async faults() {
      await checks.runAll()
      return Object.fromEntries(checks.of(8453).flatMap(({ check, fault }) => (fault === null ? [] : [[check, fault]])))
    },
    watch: checks.watch,
    close: () => Promise.all([chain.close(), pricing.close()]),
  }
}

const within = async <T>(
  protocol: typeof reference,
  wrong: Wrong,
  run: (opened: ReturnType<typeof open>) => Promise<T>,
): Promise<T> => {
  const opened = open(protocol, wrong)
  try {
    return await run(opened)
  } finally {
    await opened.close()
  }
}

const names = ['nodes', 'startBlock', 'functions', 'profile', 'tokens', 'paymentTokens', 'signer', 'signing']
const right = Object.fromEntries(names.map((name) => [name, 'pass']))
const waiting = Object.fromEntries(names.map((name) => [name, 'pending']))

describe.each([
  ['reference', reference],
  ['deployed', deployed],
])('a %s deployment', (_, protocol) => {
  test('passes every check when the configuration is correct, and is pending before the first run', () =>
    within(protocol, {}, async ({ faults, states, lines }) => {
      expect(states()).toEqual(waiting)
      expect(await faults()).toEqual({})
      expect(states()).toEqual(right)
      expect(lines).toEqual([])
    }))
})

test('a missing function of the diamond is a fault, unless the profile may lack it', async () => {
  const { send, owner } = deployed
  const selector = toFunctionSelector('claimPayout(uint256)')
  const cut = { facetAddress: zeroAddress, action: 2, functionSelectors: [selector] }
  await send(owner, 'diamondCut', [[cut], zeroAddress, '0x'])
  await within(deployed, {}, async ({ faults }) =>
    expect(await faults()).toEqual({
      functions: expect.stringMatching(/^The diamond of chain 8453 has no claimPayout: .*DIAMOND_ADDRESS_8453/),
    }),
  )
  await within(deployed, { deployment: { profile: 'reference' } }, async ({ faults }) =>
    expect((await faults()).functions).toMatch(/has no .*claimPayout.*executeCut|has no .*executeCut.*claimPayout/),
  )
})

const log = pino({ level: 'silent' })

test('a profile that contradicts the functions of the diamond stops the start', async () => {
  const fault = /^PROFILE_8453 is deployed, but the diamond has owner, getProposal, .* Set PROFILE_8453=reference\.$/
  const otherFault =
    /^PROFILE_8453 is reference, but the diamond does not have all of owner, .* Set PROFILE_8453=deployed\.$/
  const chainsOf = (protocol: typeof reference, profile: 'reference' | 'deployed') => {
    const deployment = { ...protocol.deployment, profile }
    const chain = createChain({ deployment, rpcUrls: [protocol.url], timeoutMs: 3_000, headMaxAgeMs: 1, log })
    return { chains: [chain], close: chain.close }
  }
  await within(reference, { deployment: { profile: 'deployed' } }, async ({ faults }) =>
    expect(await faults()).toEqual({ profile: expect.stringMatching(fault) }),
  )
  for (const [wrong, text] of [
    [chainsOf(reference, 'deployed'), fault],
    [chainsOf(deployed, 'reference'), otherFault],
  ] as const) {
    await expect(requireProfiles(wrong.chains)).rejects.toThrow(text)
    await wrong.close()
  }
  for (const right of [chainsOf(reference, 'reference'), chainsOf(deployed, 'deployed')]) {
    await requireProfiles(right.chains)
    await right.close()
  }
})

test('an address that is not a diamond and a token with other decimals are different faults', () =>
  within(reference, { deployment: { diamond: reference.dai, usdc: reference.dai } }, async ({ faults }) =>
    expect(await faults()).toEqual({
      functions: expect.stringContaining('DIAMOND_ADDRESS_8453'),
      tokens: expect.stringMatching(/^USDC_ADDRESS_8453 has 18 decimals, expected 6: /),
    }),
  ))

test('a configured token that the diamond does not allow is named with its address, until the owner allows it', async () => {
  const { deployment, owner, send, dai } = reference
  await send(owner, 'setAllowedPaymentToken', [dai, false])
  await within(reference, { deployment: { usdt: dai } }, async ({ faults, lines }) => {
    const fault = (await faults()).paymentTokens
    expect(fault).toMatch(/^The diamond of chain 8453 does not allow USDT_ADDRESS_8453 /)
    expect(fault).toContain(dai)
    expect(fault).toContain('set-allowed-payment-token')
    expect(fault).not.toContain(deployment.usdc)
    expect(lines).toContainEqual(expect.objectContaining({ level: 50, check: 'paymentTokens', fault }))
    await send(owner, 'setAllowedPaymentToken', [dai, true])
    expect(await faults()).not.toHaveProperty('paymentTokens')
  })
})

test('a missing view of allowed tokens is reported as a missing function, and the check of payment tokens stays pending', async () => {
  const { send, owner } = deployed
  const selector = toFunctionSelector('isAllowedPaymentToken(address)')
  await send(owner, 'diamondCut', [
    [{ facetAddress: zeroAddress, action: 2, functionSelectors: [selector] }],
    zeroAddress,
    '0x',
  ])
  await within(deployed, {}, async ({ faults, states }) => {
    expect(await faults()).toEqual({ functions: expect.stringContaining('has no isAllowedPaymentToken') })
    expect(states()).toMatchObject({ paymentTokens: 'pending' })
  })
})
test('a start block above the head is reported with both blocks and the remedy', () =>
  within(reference, { deployment: { startBlock: 999_999n } }, async ({ faults, lines }) => {
    const fault = expect.stringMatching(
      /^START_BLOCK_8453 is 999999, and the newest block of chain 8453 is \d+: .*Set START_BLOCK_8453/,
    )
    expect(await faults()).toEqual({ startBlock: fault })
    expect(lines).toEqual([expect.objectContaining({ level: 50, check: 'startBlock', fault })])
  }))

test('an address without code is not a token', () =>
  within(reference, { deployment: { usdc: reference.stranger } }, async ({ faults }) =>
    expect((await faults()).tokens).toMatch(/^USDC_ADDRESS_8453 has no decimals/),
  ))

test("an engine's signer that is not the registered one is a fault, which is logged once when it starts and once when it ends", () =>
  within(reference, {}, async ({ faults, lines }) => {
    const { send, owner, stranger } = reference
    await send(owner, 'setPricingEngineSigner', [stranger])
    const fault = expect.stringContaining(`The engine signs as ${SIGNER}, but chain 8453 accepts quotes of ${stranger}`)
    expect(await faults()).toEqual({ signer: fault })
    expect(await faults()).toEqual({ signer: fault })
    expect(lines).toEqual([expect.objectContaining({ level: 50, check: 'signer', fault })])
    await send(owner, 'setPricingEngineSigner', [SIGNER])
    expect(await faults()).toEqual({})
    expect(lines).toHaveLength(2)
    expect(lines[1]).toMatchObject({ level: 30, check: 'signer' })
  }))

test('the reason why the engine does not sign is reported for its chain, unless the engine has no key', async () => {
  const hourAhead = () => Date.now() + 3_600_000
  const cases = [
    [{ now: hourAhead }, /^Some or all quotes for chain 8453 are not signed: the engine's clock is 36\d\d s ahead/],
    [{ deployments: [] }, /set DIAMOND_ADDRESS_8453/],
    [{ chainIds: [56] }, /^The pricing engine does not have chain 8453, .*CHAINS/],
    [
      { isProduction: true },
      /the dollar rate is the configured fallback.*; the local interest rates are of 2024-11-29/,
    ],
    [{ now: hourAhead, key: undefined }, undefined],
  ] as const
  for (const [options, expected] of cases) {
    const faulty = await startEngine({ findSet: findCalibrated, ...options })
    await within(reference, { engineUrl: faulty.url }, async ({ faults }) => {
      const { signing } = await faults()
      if (expected === undefined) expect(signing).toBeUndefined()
      else expect(signing).toMatch(expected)
    })
    await faulty.close()
  }
})

test('a node of another chain is reported by its position and never by its URL', () =>
  within(reference, { rpcUrls: [reference.url, bnb.url] }, async ({ faults, lines }) => {
    expect(await faults()).toEqual({
      nodes: expect.stringMatching(/^Nodes of RPC_URLS_8453 at the zero-based positions 1 are of another chain/),
    })
    expect(JSON.stringify(lines)).not.toMatch(/https?:|127\.0\.0\.1/)
  }))

test('nodes of another chain are also reported when all nodes are', () =>
  within(reference, { rpcUrls: [bnb.url] }, async ({ faults }) => {
    expect(await faults()).toMatchObject({
      nodes: expect.stringContaining('RPC_URLS_8453 at the zero-based positions 0 '),
    })
  }))

test('checks stay pending while nodes are out of reach, and an engine that is out of reach is a fault', async () => {
  await within(reference, { rpcUrls: [NOWHERE] }, async ({ faults, states, lines }) => {
    expect(await faults()).toEqual({})
    // The signing check needs only the engine.
    expect(states()).toEqual({ ...waiting, signing: 'pass' })
    expect(lines.filter(({ level }) => level > 30 && level !== 40)).toEqual([])
  })
  await within(reference, { engineUrl: NOWHERE }, async ({ faults, states }) => {
    expect(await faults()).toEqual({ signing: expect.stringContaining('does not answer at ENGINE_URL') })
    expect(states()).toEqual({ ...right, signer: 'pending', signing: 'fail' })
  })
})

test('checks run at once, run again when the protocol state of their chain changes, and end when their signal aborts', () =>
  within(reference, {}, async ({ watch, states }) => {
    const { send, owner, stranger } = reference
    const stop = new AbortController()
    let version = 1
    const listeners = new Set<() => void>()
    const changes = {
      version: () => version,
      onCommit(listener: () => void) {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      },
    }
    const watching = watch(stop.signal, changes)
    await expect.poll(states).toEqual(right)
    // Every check now pauses for a minute or until a change.
    await expect.poll(() => listeners.size).toBe(7)
    await send(owner, 'setPricingEngineSigner', [stranger])
    version = 2
    for (const listener of listeners) listener()
    await expect.poll(states).toEqual({ ...right, signer: 'fail' })
    await send(owner, 'setPricingEngineSigner', [SIGNER])
    stop.abort()
    await watching
    expect(listeners.size).toBe(0)
  }))

test('/status contains every check, and its alarms contain the faults', async () => {
  const { url, deployment, dai } = reference
  const nodes = [{ url, deployment: { ...deployment, usdc: dai } }]
  const api = await openApp({ nodes, engineUrl: engine.url })
  try {
    await api.checks.runAll()
    const { chains } = (await api.app.inject('/status')).json().data
    expect(chains[0].checks).toMatchObject([
      { check: 'nodes', result: 'pass', fault: null },
      { check: 'startBlock', result: 'pass', fault: null },
      { check: 'functions', result: 'pass', fault: null },
      { check: 'profile', result: 'pass', fault: null },
      { check: 'tokens', result: 'fail', fault: expect.stringContaining('USDC_ADDRESS_8453') },
      { check: 'paymentTokens', result: 'pass', fault: null },
      { check: 'signer', result: 'pass', fault: null },
      { check: 'signing', result: 'pass', fault: null },
    ])
    expect(chains[0].alarms).toContainEqual(expect.stringContaining('USDC_ADDRESS_8453 has 18 decimals'))
    expect(chains[1].checks).toMatchObject([...Array(7).fill('pending'), 'pass'].map((result) => ({ result })))
  } finally {
    await api.close()
  }
})
