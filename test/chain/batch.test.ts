import { expect, expectTypeOf, test } from 'vitest'
import { flatten, type Outcomes, unflatten } from '../../src/chain/rpc/batch.ts'
import { type Block, getBlock, getChainId, type Request } from '../../src/chain/rpc/requests.ts'
import type { Outcome } from '../../src/chain/rpc/transport.ts'

const [head, first, second, id] = [getBlock('latest'), getBlock(1n), getBlock(2n), getChainId()]
const batchOf = (logs: Request<bigint> | undefined) => ({ head, blocks: [first, second], logs, none: [], id })
const ok = (value: unknown): Outcome<unknown> => ({ ok: true, value })

test('a batch is sent as one list of requests in the order of its keys, without the parts that are undefined', () => {
  expect(flatten<Request<unknown>>(batchOf(undefined))).toEqual([head, first, second, id])
})

test('outcomes return under the keys of their requests: lists as lists, undefined as undefined', () => {
  const outcomes = [ok('head'), ok('first'), ok('second'), ok('id')]
  const keyed = unflatten(batchOf(undefined), outcomes)
  expect(keyed).toEqual({
    head: ok('head'),
    blocks: [ok('first'), ok('second')],
    logs: undefined,
    none: [],
    id: ok('id'),
  })
  expect(flatten<Outcome<unknown>>(keyed)).toEqual(outcomes)
})

test('too few outcomes for a batch are an error and not undefined outcomes', () => {
  expect(() => unflatten({ head, id }, [ok('head')])).toThrow(RangeError)
})

test('each key has the type of its outcome', () => {
  type Keyed = Outcomes<ReturnType<typeof batchOf>>
  expectTypeOf<Keyed['head']>().toEqualTypeOf<Outcome<Block | null>>()
  expectTypeOf<Keyed['blocks']>().toEqualTypeOf<readonly Outcome<Block | null>[]>()
  expectTypeOf<Keyed['logs']>().toEqualTypeOf<Outcome<bigint> | undefined>()
  expectTypeOf<Keyed['id']>().toEqualTypeOf<Outcome<number>>()
})
