import { zeroAddress } from 'viem'
import { expect, test } from 'vitest'
import { NodeError } from '../../src/chain/rpc/errors.ts'
import type { Block } from '../../src/chain/rpc/requests.ts'
import type { Outcome } from '../../src/chain/rpc/transport.ts'
import { disagreement } from '../../src/indexer/agreement.ts'
import { recordCall } from '../../src/indexer/reading/existence.ts'
import { createFakeChain } from '../support/fake-log-chain.ts'

/* Whether an entity exists, by the answers of all endpoints. */

const position = { kind: 'position', id: 1n } as const

const errors = {
  reverts: new NodeError({ code: 3, message: 'execution reverted' }),
  limited: new NodeError({ code: -32_005, message: 'limit exceeded' }),
  behind: new NodeError({ code: -32_000, message: 'header not found' }),
}

/**
 * Without the block: `behind`, `behind with it` (in its newest state), `lagging`. `silent`: without an answer.
 */
type Answer = keyof typeof errors | 'has' | 'zeros' | 'behind with it' | 'lagging' | 'silent'

/**
 * Returns why the position is not believed, whether it is denied, the endpoints that were penalized, and how often all
 * were asked. The last round repeats.
 */
const ask = async (...rounds: readonly (readonly Answer[])[]) => {
  const fake = createFakeChain()
  fake.create('position', 1)
  fake.pass(1)
  const [has] = await fake.chain.readAt(fake.head(), [recordCall(position)])
  if (has?.ok !== true) throw new Error('the position was created')
  const zeros: Outcome<unknown> = { ok: true, value: { ...has.value, hedger: zeroAddress } }
  const outcomeOf = (answer: Answer): Outcome<unknown> => {
    if (answer === 'has') return has
    if (answer === 'zeros') return zeros
    return { ok: false, error: errors[answer === 'reverts' || answer === 'limited' ? answer : 'behind'] }
  }
  const newestOf = (answer: Answer): Outcome<unknown> => {
    if (answer === 'behind with it') return has
    return answer === 'has' ? zeros : { ok: false, error: errors.reverts }
  }
  const { number, timestamp } = fake.head()
  const headOf = (answer: Answer): Outcome<Block> => {
    const at = answer === 'lagging' ? timestamp - 4n : timestamp - 3n
    return { ok: true, value: { ...fake.head(), number: number - 1n, timestamp: at } }
  }
  let asked = 0
  const query = async () => {
    const answers = rounds[Math.min(asked++, rounds.length - 1)] ?? []
    return answers.flatMap((answer, endpoint) =>
      answer === 'silent'
        ? []
        : [{ endpoint, outcomes: { record: outcomeOf(answer), newest: newestOf(answer), head: headOf(answer) } }],
    )
  }
  const { status } = fake.chain
  const endpoints = rounds[0]?.flatMap(() => status().endpoints) ?? []
  Object.assign(fake.chain, { queryAllEndpoints: query, status: () => ({ ...status(), endpoints }) })
  // The clock ends the wait after the third round.
  const found = await disagreement(fake.chain, fake.head(), position, { now: () => asked, late: { pauseMs: 0, ms: 3 } })
  return [
    found && [found.text, found.isDenied],
    fake
      .faults()
      .map((fault) => fault.slice(0, 1))
      .join(),
    asked,
  ]
}

const disagree = ['nodes disagree about position 1', true]
const noSecond = ['no second node has block 2, which showed position 1', false]
const none = ['no node has block 2, which showed position 1', false]

test.each<[string, Answer[]]>([
  ['the only endpoint that answers', ['has', 'silent']],
  ['all', ['has', 'has']],
  ['two of three, and the third does not have the block', ['has', 'behind', 'has']],
  ['one of two, and the other one lags', ['has', 'lagging']],
  ['one of two at the block, and the other one below it', ['has', 'behind with it']],
  ['one of two, and the other one refuses the read', ['has', 'limited']],
])('an entity is believed that %s have', async (_, answers) => {
  expect(await ask(answers)).toEqual([null, '', 1])
})

test('an entity is believed that two of three have, and the third is penalized', async () => {
  expect(await ask(['has', 'reverts', 'has'])).toEqual([null, '1', 1])
})

test.each<[string, Answer[], unknown, string]>([
  ['one of two', ['has', 'reverts'], disagree, ''],
  ['one of two, next to one that returns zeros', ['has', 'zeros'], disagree, ''],
  ['one of three', ['zeros', 'has', 'reverts'], disagree, '1'],
  ['none', ['behind', 'behind'], none, ''],
])('an entity is not believed that %s has', async (_, answers, why, penalized) => {
  expect(await ask(answers)).toEqual([why, penalized, 1])
})

test.each<[string, Answer[], unknown]>([
  ['then has the entity', ['has', 'has'], null],
  ['then denies the entity', ['has', 'reverts'], disagree],
  ['then has stopped answering, so that it denies nothing', ['has', 'silent'], noSecond],
  ['then has no block either', ['has', 'behind'], noSecond],
])('an endpoint without the block is waited for, and %s', async (_, last, why) => {
  const asked = why === noSecond ? 3 : 2
  expect(await ask(['has', 'behind'], last)).toEqual([why, '', asked])
})

test.each<[string, Answer[], unknown, string]>([
  ['an endpoint is penalized whose block two others do not have', ['has', 'behind', 'behind'], noSecond, '0'],
  ['those without the block count next to one that denies it', ['has', 'reverts', 'behind'], disagree, '0'],
  [
    'two that have the entity do not outvote four',
    ['has', 'has', 'reverts', 'reverts', 'behind', 'behind'],
    disagree,
    '0,1',
  ],
])('after the wait, %s', async (_, answers, why, penalized) => {
  expect(await ask(answers)).toEqual([why, penalized, 3])
})
