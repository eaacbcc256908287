import { type Hex, numberToHex } from 'viem'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createReader, createUncachedReader } from '../../src/chain/read.ts'
import { NodeError } from '../../src/chain/rpc/errors.ts'
import type { Request } from '../../src/chain/rpc/requests.ts'
import type { Outcome } from '../../src/chain/rpc/transport.ts'
import type { Call } from '../../src/protocol/abi/outputs.ts'
import type { Slot } from '../../src/protocol/abi/slots.ts'

/* Which views are sent, when, and which of them together, with a node and a clock of the test. */

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  // The cache takes a time of 0 for none.
  vi.advanceTimersByTime(1)
})
afterEach(() => void vi.useRealTimers())

const diamond: Hex = `0x${'d1'.repeat(20)}`
const blockOf = (byte: string) => ({ hash: `0x${byte.repeat(32)}` }) as const
const block = blockOf('b1')
const view = (nth: number): Call => ({
  name: 'isPaused',
  data: numberToHex(nth, { size: 4 }),
  decode: (bytes: Hex) => bytes,
})
const slot: Slot = { position: numberToHex(1, { size: 32 }), decode: (word) => `word ${word}` }

const missing = new NodeError({ code: -32_000, message: 'header not found' })
const reverted = new NodeError({ code: 3, message: 'execution reverted' })

type Sent = {
  readonly requests: readonly Request<unknown>[]
  readonly answer: (...raw: readonly (Hex | NodeError)[]) => Promise<void>
  readonly fail: (error: Error) => Promise<void>
}

const open = (options: Partial<Parameters<typeof createReader>[0]> = {}) => {
  const sent: Sent[] = []
  const node: Parameters<typeof createReader>[0]['node'] = {
    send: (batch) =>
      new Promise((resolve, reject) => {
        const requests = Object.values(batch).flat() as readonly Request<unknown>[]
        const outcomeOf = (raw: Hex | NodeError, at: number): Outcome<unknown> =>
          raw instanceof NodeError ? { ok: false, error: raw } : { ok: true, value: requests[at]?.parse(raw) }
        const soon = () => new Promise<void>((done) => void setImmediate(done))
        sent.push({
          requests,
          answer: async (...raw) => {
            resolve({ outcomes: raw.map(outcomeOf) } as never)
            await soon()
          },
          fail: async (error) => {
            reject(error)
            await soon()
          },
        })
      }),
  }
  const reader = createReader({ node, diamond, maxEntries: 100, maxBytes: 10_000, ...options })
  const uncached = createUncachedReader({ node, diamond })
  return {
    ...{ sent, reader, uncached },
    /** What was sent since the last call of this function, once nothing else can happen. */
    async next(): Promise<Sent[]> {
      await new Promise((done) => void setImmediate(done))
      return sent.splice(0)
    },
    async one(): Promise<Sent> {
      await new Promise((done) => void setImmediate(done))
      expect(sent).toHaveLength(1)
      return sent.splice(0)[0] ?? expect.unreachable()
    },
  }
}
const dataOf = ({ requests }: Sent) => requests.map(({ params: [first] }) => (first as { data?: Hex }).data ?? first)
const datas = (...nths: readonly number[]) => nths.map((nth) => view(nth).data)

describe('views', () => {
  test('of one moment and block travel together, and equal ones once', async () => {
    const { reader, one } = open()
    const first = reader.readAt(block, [view(1), view(2), slot])
    const second = reader.readAt(block, [view(2), view(3)])
    const batch = await one()
    expect(batch.requests.map(({ method, params }) => [method, params])).toEqual([
      ['eth_call', [{ to: diamond, data: view(1).data }, { blockHash: block.hash }]],
      ['eth_call', [{ to: diamond, data: view(2).data }, { blockHash: block.hash }]],
      ['eth_getStorageAt', [diamond, slot.position, { blockHash: block.hash }]],
      ['eth_call', [{ to: diamond, data: view(3).data }, { blockHash: block.hash }]],
    ])
    await batch.answer('0x01', '0x02', '0x03', '0x04')
    expect(await first).toMatchObject([{ value: '0x01' }, { value: '0x02' }, { ok: true }])
    expect(await second).toEqual([
      { ok: true, value: '0x02' },
      { ok: true, value: '0x04' },
    ])
  })

  test('of different blocks travel apart', async () => {
    const { reader, next } = open()
    void reader.readAt(block, [view(1)])
    void reader.readAt(blockOf('b2'), [view(1)])
    expect((await next()).map(({ requests }) => requests[0]?.params[1])).toEqual([
      { blockHash: block.hash },
      { blockHash: blockOf('b2').hash },
    ])
  })

  test('are split into batches, the last of which has what is left', async () => {
    const { reader, next } = open({ batch: 2 })
    void reader.readAt(block, [1, 2, 3, 4].map(view))
    expect((await next()).map(dataOf)).toEqual([datas(1, 2), datas(3, 4)])
    const other = open({ batch: 2 })
    void other.reader.readAt(block, [1, 2, 3].map(view))
    expect((await other.next()).map(dataOf)).toEqual([datas(1, 2), datas(3)])
  })

  test('of a block with a batch under way are collected for ten milliseconds', async () => {
    const { reader, next } = open()
    void reader.readAt(block, [view(1)])
    expect((await next()).map(dataOf)).toEqual([datas(1)])
    void reader.readAt(block, [view(2)])
    await vi.advanceTimersByTimeAsync(9)
    void reader.readAt(block, [view(3)])
    expect(await next()).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect((await next()).map(dataOf)).toEqual([datas(2, 3)])
    // The ten milliseconds of the next ones begin with the first of them.
    await vi.advanceTimersByTimeAsync(1)
    void reader.readAt(block, [view(4)])
    await vi.advanceTimersByTimeAsync(9)
    expect(await next()).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect((await next()).map(dataOf)).toEqual([datas(4)])
  })

  test('that were collected go as soon as the last batch under way has ended', async () => {
    const { reader, next } = open({ batch: 1 })
    void reader.readAt(block, [view(1), view(2)])
    const [first, second] = await next()
    const third = reader.readAt(block, [view(3)])
    await first?.answer('0x01')
    expect(await next()).toEqual([])
    await second?.answer('0x02')
    const [last] = await next()
    expect(last && dataOf(last)).toEqual(datas(3))
    await vi.advanceTimersByTimeAsync(10)
    expect(await next()).toEqual([])
    await last?.answer('0x03')
    expect(await third).toEqual([{ ok: true, value: '0x03' }])
    // Nothing is under way, so the next one goes at once.
    void reader.readAt(block, [view(4)])
    expect((await next()).map(dataOf)).toEqual([datas(4)])
  })

  test('are refused when as many wait as may', async () => {
    const { reader, one } = open({ maxPending: 2 })
    const two = reader.readAt(block, [view(1), view(2)])
    const same = reader.readAt(block, [view(2)])
    await expect(reader.readAt(block, [view(3)])).rejects.toMatchObject({
      ...{ code: 'service_unavailable', message: '2 views wait for a node, which is the limit: retry after 1 s' },
    })
    await (await one()).answer('0x01', '0x02')
    expect([await two, await same]).toMatchObject([[{ value: '0x01' }, { value: '0x02' }], [{ value: '0x02' }]])
    void reader.readAt(block, [view(3), view(4)])
    expect(dataOf(await one())).toEqual(datas(3, 4))
  })
})

describe('an outcome', () => {
  test('is kept for a minute by its block and call, reverts too', async () => {
    const { reader, one, next } = open()
    const first = reader.readAt(block, [view(1), view(2)])
    await (await one()).answer('0x01', reverted)
    const outcomes = await first
    expect(outcomes).toEqual([
      { ok: true, value: '0x01' },
      { ok: false, error: reverted },
    ])
    await vi.advanceTimersByTimeAsync(4_999)
    expect([await reader.readAt(block, [view(1), view(2)]), await next()]).toEqual([outcomes, []])
    void reader.readAt(blockOf('b2'), [view(1)])
    expect(await next()).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(2)
    void reader.readAt(block, [view(1), view(2)])
    expect(dataOf(await one())).toEqual(datas(1, 2))
  })

  test('that is a fault of the node is an error, is not kept, and does not concern the others', async () => {
    const { reader, one, next } = open()
    const [first, second] = [reader.readAt(block, [view(1)]), reader.readAt(block, [view(2)])]
    const failed = expect(first).rejects.toMatchObject({ code: 'service_unavailable', cause: missing })
    await (await one()).answer(missing, '0x02')
    await failed
    expect(await second).toEqual([{ ok: true, value: '0x02' }])
    void reader.readAt(block, [view(1), view(2)])
    expect((await next()).map(dataOf)).toEqual([datas(1)])
  })

  test('that is missing is an error of the program', async () => {
    const { reader, one } = open()
    const failed = expect(reader.readAt(block, [view(1), view(2)])).rejects.toThrow(RangeError)
    await (await one()).answer('0x01')
    await failed
  })

  test('is an error for each view of a batch that fails as a whole, and the next reader asks again', async () => {
    const { reader, one } = open()
    const error = new Error('no node')
    const all = [view(1), view(2)].map((each) => expect(reader.readAt(block, [each])).rejects.toBe(error))
    await (await one()).fail(error)
    await Promise.all(all)
    const again = reader.readAt(block, [view(1)])
    await (await one()).answer('0x05')
    expect(await again).toEqual([{ ok: true, value: '0x05' }])
  })

  test('counts with its key and the bytes that the node wrote', async () => {
    // A key has 66 and 10 characters, and an answer as many as it is long.
    const { reader, one, next } = open({ maxBytes: 2 * 76 + 2 * 100 })
    const read = async (nth: number, length: number) => {
      const done = reader.readAt(block, [view(nth)])
      await (await one()).answer(`0x${'0'.repeat(length - 2)}`)
      await done
    }
    await read(1, 100)
    await read(2, 100)
    await reader.readAt(block, [view(1), view(2)])
    expect(await next()).toEqual([])
    await read(3, 4)
    await reader.readAt(block, [view(2), view(3)])
    expect(await next()).toEqual([])
    void reader.readAt(block, [view(1)])
    expect((await next()).map(dataOf)).toEqual([datas(1)])
  })

  test('is dropped when as many others are newer as are kept', async () => {
    const { reader, one, next } = open({ maxEntries: 2 })
    const done = reader.readAt(block, [view(1), view(2), view(3)])
    await (await one()).answer('0x01', '0x02', '0x03')
    await done
    void reader.readAt(block, [view(2), view(3), view(1)])
    expect((await next()).map(dataOf)).toEqual([datas(1)])
  })
})

describe('a reader without a cache', () => {
  test('sends each view again, and nothing for none', async () => {
    const { uncached, one, next } = open()
    expect([await uncached.readAt(block, []), await next()]).toEqual([[], []])
    for (const value of ['0x01', '0x02'] as const) {
      const read = uncached.readAt(block, [view(1), view(2)])
      const batch = await one()
      expect(batch.requests.map(({ params }) => params[1])).toEqual([
        { blockHash: block.hash },
        { blockHash: block.hash },
      ])
      await batch.answer(value, reverted)
      expect(await read).toEqual([
        { ok: true, value },
        { ok: false, error: reverted },
      ])
    }
  })
  test('throws a fault of the node', async () => {
    const { uncached, one } = open()
    const failed = expect(uncached.readAt(block, [view(1), view(2)])).rejects.toMatchObject({ cause: missing })
    await (await one()).answer('0x01', missing)
    await failed
  })
})
