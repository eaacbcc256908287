import { zeroAddress } from 'viem'
import { expect, test } from 'vitest'
import { NodeError } from '../../src/chain/rpc/errors.ts'
import type { Outcome } from '../../src/chain/rpc/transport.ts'
import { disagreement } from '../../src/indexer/agreement.ts'
import { recordCall } from '../../src/indexer/reading/existence.ts'
import { createFakeChain } from '../support/fake-log-chain.ts'

/* Whether an entity exists, by the answers of all endpoints. */

const position = { kind: 'position', id: 1n } as const

const errors = {
  reverts: new NodeError({ code: 3, message: 'execution reverted' }),
  behind: new NodeError({ code: -32_000, message: 'header not found' }),
}

type Answer = keyof typeof errors | 'has' | 'zeros'

/** Returns why the position is not believed, the endpoints that were penalized, and how often all were asked. */
const ask = async (...rounds: readonly (readonly Answer[])[]) => {
  const fake = createFakeChain()
  fake.create('position', 1)
  const [has] = await fake.chain.readAt(fake.head(), [recordCall(position)])
  if (has?.ok !== true) throw new Error('the position was created')
  const zeros: Outcome<unknown> = { ok: true, value: { ...has.value, hedger: zeroAddress } }
  const outcomeOf = (answer: Answer): Outcome<unknown> =>
    answer === 'has' ? has : answer === 'zeros' ? zeros : { ok: false, error: errors[answer] }
  let asked = 0
  const query = async () => {
    const answers = rounds[Math.min(asked++, rounds.length - 1)] ?? []
    return answers.map((answer, endpoint) => ({ endpoint, outcomes: { record: outcomeOf(answer) } }))
  }
  const { status } = fake.chain
  const endpoints = rounds[0]?.flatMap(() => status().endpoints) ?? []
  Object.assign(fake.chain, { queryAllEndpoints: query, status: () => ({ ...status(), endpoints }) })
  // The clock ends the wait after the third round.
  const why = await disagreement(fake.chain, fake.head(), position, { now: () => asked, late: { pauseMs: 0, ms: 3 } })
  return [why, fake.faults().map((fault) => fault.slice(0, 1)), asked]
}

const disagree = 'nodes disagree about position 1'
const noSecond = 'no second node has block 1, which shows position 1'

test.each<[string, Answer[], string | null, string[]]>([
  ['the only endpoint that answers', ['has'], null, []],
  ['all', ['has', 'has'], null, []],
  ['two of three', ['has', 'reverts', 'has'], null, ['1']],
  ['two of three, and the third does not have the block', ['has', 'behind', 'has'], null, []],
])('a row is believed that %s have', async (_, answers, why, penalized) => {
  expect(await ask(answers)).toEqual([why, penalized, 1])
})

test.each<[string, Answer[], string, string[]]>([
  ['one of two', ['has', 'reverts'], disagree, []],
  ['one of two, next to one that returns zeros', ['has', 'zeros'], disagree, []],
  ['one of three', ['zeros', 'has', 'reverts'], disagree, ['1']],
])('a row is not believed that %s has', async (_, answers, why, penalized) => {
  expect(await ask(answers)).toEqual([why, penalized, 1])
})

test.each<[string, Answer[], string | null, string[]]>([
  ['has the row', ['has', 'has'], null, []],
  ['denies the row', ['has', 'reverts'], disagree, []],
  ['has no block either', ['has', 'behind'], noSecond, []],
])('an endpoint without the block is waited for, and %s', async (_, last, why, penalized) => {
  const asked = last[1] === 'behind' ? 3 : 2
  expect(await ask(['has', 'behind'], last)).toEqual([why, penalized, asked])
})

test.each<[string, Answer[], string | null, string[]]>([
  ['an endpoint is penalized whose block two others do not have', ['has', 'behind', 'behind'], noSecond, ['0']],
  ['a row that no endpoint shows is not believed', ['behind', 'behind'], noSecond, []],
  [
    'two that have the row do not outvote four',
    ['has', 'has', 'reverts', 'reverts', 'behind', 'behind'],
    disagree,
    ['0', '1'],
  ],
  ['those without the block count next to those that deny the row', ['has', 'reverts', 'behind'], disagree, ['0']],
])('after the wait, %s', async (_, answers, why, penalized) => {
  expect(await ask(answers)).toEqual([why, penalized, 3])
})
