import { decodeFunctionData, type Hex } from 'viem'
import { expect, test } from 'vitest'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { NodeError } from '../../src/chain/rpc/errors.ts'
import { eventOf, factRequests, factsOf, termsOf } from '../../src/plans/steps/facts.ts'
import { BLOCK, core, DIAMOND, deposit, OTHER, position, range, stats } from '../support/plan-chain.ts'

const ok = (value: unknown) => ({ ok: true, value }) as const
const failed = { ok: false, error: new NodeError({ code: 3, message: 'execution reverted' }) } as const

test.each([
  [
    { kind: 'event', id: 5n },
    ['getHedgeEventCore', 'getHedgeEventRange', 'getHedgeEventStats', 'getEventPaymentToken'],
  ],
  [{ kind: 'deposit', id: 3n }, ['getHedgeLpDeposit', 'pendingPremiums']],
  [{ kind: 'position', id: 9n }, ['getHedgePosition']],
] as const)('the facts of %o are views of it at the block', (entity, names) => {
  const calls = factRequests(entity, DIAMOND, BLOCK.hash).map(({ params: [call, at] }) => {
    expect(at).toMatchObject({ blockHash: BLOCK.hash })
    const { to, data } = call as { to: string; data: Hex }
    const { functionName, args } = decodeFunctionData({ abi: protocolAbi, data })
    return [to, functionName, args]
  })
  expect(calls).toEqual(names.map((name) => [DIAMOND, name, [entity.id]]))
})

test('the answers have the names of their views, without those that failed', () => {
  const event = { kind: 'event', id: 5n } as const
  expect(factsOf(event, [ok(core), ok(range), ok(stats), ok(OTHER)])).toEqual({
    core,
    range,
    stats,
    paymentToken: OTHER,
  })
  expect(factsOf(event, [failed, ok(range), failed, ok(OTHER)])).toEqual({ range, paymentToken: OTHER })
  expect(factsOf({ kind: 'deposit', id: 3n }, [ok(deposit), ok(8n)])).toEqual({ deposit, pending: 8n })
  expect([factsOf(null, [ok(core)]), factRequests(null, DIAMOND, BLOCK.hash)]).toEqual([{}, []])
})

test.each([
  [{ core }, 5n],
  [{ deposit: { ...deposit, eventId: 6n } }, 6n],
  [{ position: { ...position, eventId: 7n } }, 7n],
  [{ core: { ...core, id: 0n } }, null],
  [{ deposit: { ...deposit, eventId: 0n } }, null],
  [{}, null],
])('the event of an entity %#', (facts, id) => {
  expect(eventOf(facts)).toBe(id)
})

test('an event has terms once both of its views are read and it exists', () => {
  expect(termsOf({ core, range })).toEqual({ ...core, ...range })
  expect([termsOf({ core }), termsOf({ range }), termsOf({ core: { ...core, id: 0n }, range })]).toEqual([
    null,
    null,
    null,
  ])
})
