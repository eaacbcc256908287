import { describe, expect, test } from 'vitest'
import { NodeError } from '../../src/chain/rpc/errors.ts'
import { poll } from '../../src/indexer/poll.ts'
import { createFakeChain } from '../support/fake-log-chain.ts'

describe('a poll', () => {
  const open = () => {
    const fake = createFakeChain()
    fake.create('position', 1)
    const anchor = fake.head()
    fake.pass(3)
    const ask = (logsFrom: bigint | null = null) => poll(fake.chain, { anchor, logsFrom })
    return { fake, anchor, ask }
  }

  test('has the head and, as requested, the block of the anchor and the logs from a block on', async () => {
    const { fake, anchor, ask } = open()
    expect(await poll(fake.chain, { anchor: null, logsFrom: null })).toEqual({
      ...{ endpoint: 0, head: fake.head(), anchor: undefined, logs: null },
    })
    fake.create('position', 2)
    fake.create('position', 3)
    expect(await ask()).toEqual({ endpoint: 0, head: fake.head(), anchor, logs: null })
    expect((await ask(5n)).logs?.map(({ blockNumber }) => blockNumber)).toEqual([5n, 6n])
    expect((await ask(6n)).logs?.map(({ blockNumber }) => blockNumber)).toEqual([6n])
    fake.reorg(0n)
    expect((await ask()).anchor).toBeNull()
    fake.pass(2)
    expect((await ask()).anchor).toEqual(fake.block(1n))
  })

  /** Asks with outcomes in place of those of the node. */
  const replaced = (fake: ReturnType<typeof createFakeChain>, outcomes: object) => {
    const { poll: send } = fake.chain
    let isAnswer: ((given: never) => boolean) | undefined
    Object.assign(fake.chain, {
      poll: async (batch: never, options: { readonly isAnswer: typeof isAnswer }) => {
        isAnswer = options.isAnswer
        const found = await send(batch)
        return { ...found, outcomes: { ...(found.outcomes as object), ...outcomes } }
      },
    })
    return (given: object) => isAnswer?.(given as never)
  }
  const error = new NodeError({ code: -32_000, message: 'header not found' })

  test('counts another block at the anchor as an answer, but no missing one', async () => {
    const { fake, anchor, ask } = open()
    const judge = replaced(fake, {})
    await ask()
    const of = (value: unknown) => judge({ anchor: { ok: true, value } })
    expect([of(anchor), of({ ...anchor, hash: '0xbad' }), of(null), judge({ anchor: { ok: false, error } })]).toEqual([
      ...[false, true, false, false],
    ])
  })

  test('throws when a node does not answer for the anchor, and has no logs when it does not answer for these', async () => {
    const { fake, ask } = open()
    replaced(fake, { logs: { ok: false, error } })
    expect((await ask(1n)).logs).toBeNull()
    const other = open()
    replaced(other.fake, { anchor: { ok: false, error } })
    await expect(other.ask(1n)).rejects.toMatchObject({ code: 'service_unavailable' })
  })
})
