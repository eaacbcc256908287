import { encodeFunctionData, type Hex, zeroHash } from 'viem'
import { describe, expect, test } from 'vitest'
import { erc20Abi } from '../../src/abi/erc20.generated.ts'
import { rehearse, wordOf } from '../../src/plans/steps/rehearse.ts'
import { actionStep, approval } from '../../src/plans/steps/step.ts'
import { actions } from '../support/call-actions.ts'
import {
  BLOCK,
  DAI_AT,
  DIAMOND,
  deploymentOf,
  OTHER,
  planChain,
  TIME,
  USDC_AT,
  WALLET,
  type World,
} from '../support/plan-chain.ts'

const deployment = deploymentOf(8453)
const at = { blockHash: BLOCK.hash, time: TIME }
const deposit = (amount: bigint) =>
  actionStep('deposit', actions.deposit, { chainId: 8453, eventId: 5n, amount }, deployment)

/** Deposits of what they ask for, of which DAI comes back. */
const world: Partial<World> = {
  balances: { [USDC_AT]: 1_000n, [DAI_AT]: 500n },
  allowances: { [USDC_AT]: 700n },
  calls: { deposit: ([, amount]) => ({ takes: { [USDC_AT]: amount as bigint, [DAI_AT]: -2n }, returns: 12n }) },
}

const rehearsed = async (more: object, chosen: Partial<World> = {}) => {
  const { chain, sent } = planChain({ ...world, ...chosen })
  const tokens = [USDC_AT, DAI_AT, OTHER]
  const { rehearsal, outcomes, instead } = await rehearse(
    chain,
    at,
    { from: WALLET, steps: [deposit(300n), deposit(401n), deposit(100n)], tokens, ...more },
    {},
  )
  return { rehearsal, outcomes, instead, sent }
}

describe('steps one after the other', () => {
  test('have their own results and changes', async () => {
    const { rehearsal } = await rehearsed({})
    expect(rehearsal?.method).toBe('eth_simulateV1')
    expect(rehearsal?.steps.map(({ ok, changes }) => [ok, [...changes]])).toEqual([
      [
        true,
        [
          [USDC_AT, -300n],
          [DAI_AT, 2n],
        ],
      ],
      [false, []],
      [
        true,
        [
          [USDC_AT, -100n],
          [DAI_AT, 2n],
        ],
      ],
    ])
  })

  test('change the balances of the protocol by all of them', async () => {
    const { rehearsal } = await rehearsed({})
    expect([...(rehearsal?.ofProtocol ?? [])]).toEqual([
      [USDC_AT, 400n],
      [DAI_AT, -4n],
    ])
  })

  test('show which addresses answer as tokens, and leave out the others', async () => {
    const { rehearsal } = await rehearsed({})
    expect(rehearsal?.answering).toEqual(new Set([USDC_AT, DAI_AT]))
  })

  test('count an address as a token by the balance of the wallet, not of the protocol', async () => {
    const ofProtocol = encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [DIAMOND] })
    const others: World['others'] = (_, data) => (data === ofProtocol ? zeroHash : undefined)
    const { rehearsal } = await rehearsed({}, { others })
    expect(rehearsal?.answering).toEqual(new Set([USDC_AT, DAI_AT]))
  })

  test('run at the time of the plan', async () => {
    const times: bigint[] = []
    const timed = (_: readonly unknown[], time: bigint) => {
      times.push(time)
      return {}
    }
    await rehearsed({}, { calls: { deposit: timed } })
    expect(times).toEqual([TIME, TIME, TIME])
  })

  test('run with the balances of the overrides', async () => {
    const steps = [approval('approve', USDC_AT, 5_000n, deployment), deposit(5_000n)]
    expect((await rehearsed({ steps })).rehearsal?.steps[1]?.ok).toBe(false)
    const { rehearsal } = await rehearsed({ steps, overrides: { [USDC_AT]: { [zeroHash]: zeroHash } } })
    expect(rehearsal?.steps[1]?.ok).toBe(true)
    expect(rehearsal?.steps[1]?.changes.get(USDC_AT)).toBe(-5_000n)
  })

  test('are followed by further calls', async () => {
    const { transaction } = deposit(1n)
    const { rehearsal } = await rehearsed({ after: [{ to: DIAMOND, data: transaction.data }] })
    expect(rehearsal?.after.map(({ data }) => data)).toEqual([`0x${'0'.repeat(63)}c`])
    expect((await rehearsed({})).rehearsal?.after).toEqual([])
  })
})

test('without a node that simulates, the other requests are sent instead', async () => {
  const request = { method: 'eth_maxPriorityFeePerGas', params: [], parse: (raw: unknown) => raw }
  const { rehearsal, instead, sent } = await rehearsed({ instead: () => [request] }, { simulates: false })
  expect([rehearsal, instead]).toEqual([null, [{ ok: true, value: '0x3' }]])
  expect(sent.at(-1)).toEqual([request])
  expect((await rehearsed({ instead: () => [request] })).instead).toEqual([])
})

test.each<[string, { ok: boolean; data: Hex } | undefined, bigint | null]>([
  ['a word', { ok: true, data: `0x${'0'.repeat(63)}7` }, 7n],
  ['the word of a revert', { ok: false, data: `0x${'0'.repeat(63)}7` }, null],
  ['a shorter answer', { ok: true, data: `0x${'0'.repeat(62)}` }, null],
  ['a longer answer', { ok: true, data: `0x${'0'.repeat(66)}` }, null],
  ['no bytes', { ok: true, data: '0x' }, null],
  ['no answer', undefined, null],
])('the number in %s', (_, result, number) => {
  expect(wordOf(result)).toBe(number)
})
