import { zeroAddress } from 'viem'
import { describe, expect, test } from 'vitest'
import { NodeError } from '../../src/chain/rpc/errors.ts'
import type { Outcome } from '../../src/chain/rpc/transport.ts'
import { isAgreed } from '../../src/indexer/agreement.ts'
import { recordCall } from '../../src/indexer/reading/existence.ts'
import { createFakeChain } from '../support/fake-log-chain.ts'

/* Whether an entity exists, by the answers of all endpoints. */

const position = { kind: 'position', id: 1n } as const

const errors = {
  reverts: new NodeError({ code: 3, message: 'execution reverted' }),
  behind: new NodeError({ code: -32_000, message: 'header not found' }),
}

type Answer = keyof typeof errors | 'has' | 'zeros'

/** Returns whether the position exists, and the endpoints that were penalized. */
const ask = async (answers: readonly Answer[]) => {
  const fake = createFakeChain()
  fake.create('position', 1)
  const [has] = await fake.chain.readAt(fake.head(), [recordCall(position)])
  if (has?.ok !== true) throw new Error('the position was created')
  const zeros: Outcome<unknown> = { ok: true, value: { ...has.value, hedger: zeroAddress } }
  const outcomeOf = (answer: Answer): Outcome<unknown> =>
    answer === 'has' ? has : answer === 'zeros' ? zeros : { ok: false, error: errors[answer] }
  const all = answers.map((answer, endpoint) => ({ endpoint, outcomes: { record: outcomeOf(answer) } }))
  Object.assign(fake.chain, { queryAllEndpoints: async () => all })
  const isIt = await isAgreed(fake.chain, fake.head(), position)
  return [isIt, fake.faults().map((fault) => fault.slice(0, 1))]
}

describe('an entity exists', () => {
  test.each<[string, Answer[], boolean, string[]]>([
    ['by the only endpoint that answers', ['has'], true, []],
    ['by all', ['has', 'has'], true, []],
    ['by two of three', ['has', 'reverts', 'has'], true, ['1']],
    ['next to an endpoint that does not have the block', ['has', 'behind', 'behind'], true, []],
  ])('%s', async (_, answers, agreed, penalized) => {
    expect(await ask(answers)).toEqual([agreed, penalized])
  })
})

describe('an entity does not exist', () => {
  test.each<[string, Answer[], boolean, string[]]>([
    ['by one of two', ['has', 'reverts'], false, []],
    ['by one of two, which returns zeros', ['has', 'zeros'], false, []],
    ['by two of three', ['zeros', 'has', 'reverts'], false, ['1']],
    ['where no endpoint has the block', ['behind', 'behind'], false, []],
  ])('%s', async (_, answers, agreed, penalized) => {
    expect(await ask(answers)).toEqual([agreed, penalized])
  })
})
