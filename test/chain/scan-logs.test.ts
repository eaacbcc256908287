import fc from 'fast-check'
import { type AbiEvent, decodeEventLog, type Hex, numberToHex } from 'viem'
import { expect, test } from 'vitest'
import { parseLogs } from '../../src/chain/rpc/log-shape.ts'
import { extractLogs } from '../../src/chain/rpc/scan-logs.ts'
import { type ExtractPart, readJson } from '../../src/lib/http/read-json.ts'
import { decodeLog } from '../../src/protocol/abi/logs.ts'
import { PackedLog, type RawLog } from '../../src/protocol/abi/packed-log.ts'
import { argsOf, encode, followed, hex } from '../support/random-logs.ts'
import { byForm } from '../support/repetitions.ts'

const MAX = 2 ** 20

async function* body(text: string) {
  yield Buffer.from(text, 'latin1')
}

type Json = Readonly<Record<string, unknown>>

/** The outcome for an answer with logs: each log with its fields and its decoded form or error, or the parse error. */
const outcome = async (text: string, lift: ExtractPart | undefined, max = MAX): Promise<unknown> => {
  try {
    const answers = (await readJson(body(text), max, lift)) as readonly Json[] | undefined
    return answers?.map?.(({ result, ...others }) => ({ others, logs: parseLogs(result).map(summary) })) ?? answers
  } catch (fault) {
    return String(fault)
  }
}

const summary = (log: RawLog): unknown => {
  const { address, topics, data, blockNumber, blockHash, blockTimestamp, transactionHash, logIndex } = log
  const fields = { address, topics, data, blockNumber, blockHash, blockTimestamp, transactionHash, logIndex }
  try {
    return { ...fields, decoded: decodeLog(log) }
  } catch (fault) {
    return { ...fields, refused: String(fault) }
  }
}

const answerOf = (logs: readonly unknown[]): string => JSON.stringify([{ jsonrpc: '2.0', id: 0, result: logs }])

/** The scanned logs; null if the scan leaves them to `parseLogs`. */
const scanned = (text: string): readonly RawLog[] | null => {
  const lifted = extractLogs(Buffer.from(text))
  if (lifted === null) return null
  const [answer] = lifted.restore(JSON.parse(lifted.rest.toString())) as readonly [Json]
  return parseLogs(answer.result)
}

const quantity = fc.oneof(fc.constant(0n), fc.bigInt(0n, 2n ** 64n)).map((value) => numberToHex(value))

/** A log of one type in the format of a node, with its keys in random order. */
const written = (event: AbiEvent): fc.Arbitrary<Json> =>
  fc
    .record({
      args: argsOf(event),
      address: hex(20),
      blockHash: hex(32),
      transactionHash: hex(32),
      blockNumber: quantity,
      logIndex: fc.nat(5_000).map((index) => numberToHex(index)),
      blockTimestamp: fc.option(quantity, { nil: null }),
      removed: fc.constant(false),
      order: fc.infiniteStream(fc.nat()),
    })
    .map(({ args, order, ...log }) => {
      const { topics, data } = encode(event, args)
      const entries = Object.entries({ ...log, topics, data, transactionIndex: '0x0' })
      const places = new Map(entries.map(([key]) => [key, order.next().value]))
      return Object.fromEntries(entries.sort(([a], [b]) => (places.get(a) ?? 0) - (places.get(b) ?? 0)))
    })

const anyLog = fc.oneof(...followed.map(written))

/** A log that no contract of the protocol emits: one part of it is changed. */
const odd = anyLog.chain((log) => {
  const [topics, data] = [log.topics as Hex[], log.data as Hex]
  const cut = (bytes: number): Hex => `0x${data.slice(2, 2 + bytes * 2)}`
  return fc.oneof(
    fc.nat(data.length / 2).map((bytes) => ({ ...log, data: cut(bytes) })),
    fc
      .uint8Array({ minLength: 1, maxLength: 40 })
      .map((more) => ({ ...log, data: data + Buffer.from(more).toString('hex') })),
    fc.nat(topics.length).map((count) => ({ ...log, topics: topics.slice(0, count) })),
    hex(32).map((topic) => ({ ...log, topics: [...topics, topic] })),
    // The padding of an address or a flag, and the bytes at an offset, need not be zeros.
    fc
      .tuple(fc.nat(3), hex(32))
      .map(([at, word]) => ({ ...log, topics: topics.map((topic, nth) => (nth === at ? word : topic)) })),
    fc.tuple(fc.nat(6), hex(32)).map(([at, word]) => ({
      ...log,
      data: cut(at * 32) + word.slice(2) + data.slice(66 + at * 64),
    })),
    fc.constantFrom(
      { ...log, data: data.toUpperCase() },
      { ...log, data: `0x${data.slice(2).toUpperCase()}` },
      { ...log, data: `${data}0` },
      { ...log, data: undefined },
      { ...log, blockNumber: '0x' },
      { ...log, blockNumber: 7 },
      { ...log, blockTimestamp: 'soon' },
      { ...log, blockTimestamp: '0x' },
      { ...log, transactionHash: '0x11' },
      { ...log, logIndex: null },
      { ...log, removed: true },
      { ...log, logIndex: 7, blockTimestamp: 8 },
      { ...log, more: { a: [1] } },
      { ...log, more: '\u00e9"\\' },
      { ...log, topics: 'none' },
      null,
      [],
      {},
    ),
  )
})

test.each(followed)('the scan of a $name log decodes to the same values as viem', (event) => {
  fc.assert(
    fc.property(fc.array(written(event), { minLength: 1, maxLength: 4 }), (logs) => {
      const found = scanned(answerOf(logs))
      expect(found).toHaveLength(logs.length)
      for (const [at, log] of logs.entries()) {
        const ours = found?.[at]
        expect(ours).toBeInstanceOf(PackedLog)
        const { topics, data } = log as { topics: [Hex]; data: Hex }
        expect(ours).toMatchObject({ topics, data, transactionHash: log.transactionHash })
        const { args } = decodeEventLog({ abi: [event as AbiEvent], topics, data })
        const decoded = ours && decodeLog(ours)
        if (decoded == null || decoded.kind === 'hint') continue
        const { [`${decoded.kind}Id`]: id, ...rest } = args as Json
        const lower = Object.entries(rest).map(([name, value]) => [name, lowered(value)])
        expect(decoded).toMatchObject({ id, ...Object.fromEntries(lower) })
      }
    }),
    { numRuns: byForm(10, 40) },
  )
})

const lowered = (value: unknown): unknown =>
  typeof value === 'string' && /^0x[\da-f]{40}$/i.test(value) ? value.toLowerCase() : value

test('valid and invalid logs of all types have the same outcome with and without the scan', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(anyLog, anyLog, odd), { maxLength: 4 }), async (logs) => {
      const text = answerOf(logs)
      expect(await outcome(text, extractLogs)).toEqual(await outcome(text, undefined))
    }),
    { numRuns: byForm(100, 1_000) },
  )
})

test('an answer with an added, missing or changed byte has the same outcome with and without the scan', async () => {
  const change = fc.record({
    at: fc.nat(),
    drop: fc.nat(2),
    put: fc.constantFrom('', ' ', '"', '\\', ',', '[', '}', '0', 'F', '\n', 'é'),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(anyLog, { minLength: 1, maxLength: 3 }), change, async (logs, { at, drop, put }) => {
      const text = answerOf(logs)
      const place = at % text.length
      const changed = text.slice(0, place) + put + text.slice(place + drop)
      expect(await outcome(changed, extractLogs)).toEqual(await outcome(changed, undefined))
    }),
    { numRuns: byForm(100, 1_000) },
  )
})

const [sample] = fc.sample(anyLog, { numRuns: 1, seed: 1 })

test('logs outside the result of an answer are not returned', async () => {
  const text = JSON.stringify([{ id: 0, result: [], more: { result: [sample] } }])
  expect(extractLogs(Buffer.from(text))).not.toBeNull()
  expect(await outcome(text, extractLogs)).toEqual([{ others: { id: 0, more: { result: [sample] } }, logs: [] }])
})

test('scanned logs count towards the limits of an answer', async () => {
  const logs = fc.sample(fc.oneof(...followed.filter(({ name }) => name === 'Paused').map(written)), {
    numRuns: 40,
    seed: 1,
  })
  const text = answerOf(logs)
  const values = text.match(/[,[{]/g)?.length ?? 0
  for (const [limit, found] of [
    [values, [{ logs: { length: logs.length } }]],
    [values - 1, `more than ${values - 1} values`],
  ] as const) {
    expect(text.length).toBeLessThan(limit * 64)
    const ours = await outcome(text, extractLogs, limit * 64)
    if (typeof found === 'string') expect(ours).toContain(found)
    else expect(ours).toMatchObject(found)
    expect(ours).toEqual(await outcome(text, undefined, limit * 64))
  }
})
