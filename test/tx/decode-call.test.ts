import fc from 'fast-check'
import { type Address, encodeFunctionData, type Hex, maxUint256, toHex, zeroAddress, zeroHash } from 'viem'
import { expect, test } from 'vitest'
import { erc20Abi } from '../../src/abi/erc20.generated.ts'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { decodeCall } from '../../src/tx/decode-call.ts'
import { factsOf } from '../support/known-chains.ts'
import { byForm, seed } from '../support/repetitions.ts'

const diamond: Address = '0x610178dA211FEF7D417bC0e6FeD39F05609AD788'
const usdc: Address = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const deployment = {
  ...{ chainId: 8453, ...factsOf(8453), diamond, usdc, usdt: null, publicRpcUrl: '', startBlock: 0n },
  profile: 'reference',
} as const

const approval = encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [diamond, 7n] })

test('a call of the protocol has the names of its builder, and integers as decimal strings', () => {
  const purchase = encodeFunctionData({
    ...{ abi: protocolAbi, functionName: 'buyProtection', args: [9n, 10n ** 20n, 5n, 2n ** 256n - 1n] },
  })
  expect(decodeCall(deployment, diamond, purchase)).toEqual({
    function: 'buyProtection',
    args: { eventId: '9', notional: '100000000000000000000', maxCost: '5', deadline: maxUint256.toString() },
  })
  const event = {
    ...{ name: 'Cedi', underlying: 'USD/GHS', strike: 1n, payoutCap: 2n, premiumRate: 3n, expiryDate: 1_800_000_000n },
    ...{ allowExternalLp: true, initialLiquidity: 4n, initialRate: 5n, strikeAbove: false, paymentToken: usdc },
    ...{ signature: '0x' as Hex, quoteTimestamp: 0n, quoteNonce: zeroHash },
  } as const
  const creation = encodeFunctionData({ abi: protocolAbi, functionName: 'createEvent', args: [event] })
  const { expiryDate: _, ...others } = event
  expect(decodeCall(deployment, diamond, creation)).toEqual({
    function: 'createEvent',
    args: {
      ...{ ...others, strike: '1', payoutCap: '2', premiumRate: '3', expiry: '1800000000' },
      ...{ initialLiquidity: '4', initialRate: '5', quoteTimestamp: '0' },
    },
  })
})

test('an approval is decoded at a configured token alone', () => {
  const decoded = { function: 'approve', args: { spender: diamond, amount: '7' } }
  expect(decodeCall(deployment, usdc, approval)).toEqual(decoded)
  for (const to of [diamond, zeroAddress, null]) expect(decodeCall(deployment, to, approval)).toBeNull()
  const pause = encodeFunctionData({ abi: protocolAbi, functionName: 'pause' })
  expect(decodeCall(deployment, usdc, pause)).toBeNull()
  expect(decodeCall(deployment, diamond, pause)).toEqual({ function: 'pause', args: {} })
})

test('long lists are cut', () => {
  const functionSelectors = Array<Hex>(2_000).fill('0x01020304')
  const cut = encodeFunctionData({
    abi: protocolAbi,
    functionName: 'diamondCut',
    args: [[{ facetAddress: diamond, action: 0, functionSelectors }], zeroAddress, `0x${'ab'.repeat(50_000)}`],
  })
  const { args } = decodeCall(deployment, diamond, cut) ?? {}
  expect(Object.keys(args ?? {})).toEqual(['cuts', 'init', 'initData'])
  expect(JSON.stringify(args).length).toBeLessThan(4_000)
})

const RUNS = byForm(2_000, 50_000)

test(`${RUNS} arbitrary calldata (seed ${seed}) are decoded without an error`, () => {
  const selectors = fc.constantFrom('ecdb44c0', ...[approval.slice(2, 10), 'e2bbb158', '8456cb59', '1f931c1c'])
  const bytes = fc.uint8Array({ maxLength: 500 }).map((it) => toHex(it).slice(2))
  const data = fc.oneof(
    bytes.map((it): Hex => `0x${it}`),
    fc.tuple(selectors, bytes).map(([selector, rest]): Hex => `0x${selector}${rest}`),
  )
  fc.assert(
    fc.property(fc.constantFrom(diamond, usdc), data, (to, input) => {
      expect(decodeCall(deployment, to, input)?.function ?? null).not.toBe('')
    }),
    { seed, numRuns: RUNS },
  )
})
