import { randomBytes } from 'node:crypto'
import { encodeAbiParameters, encodeFunctionResult, toEventSelector, zeroAddress } from 'viem'
import { expect, test } from 'vitest'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { decodeLog } from '../../src/protocol/abi/logs.ts'
import { call } from '../../src/protocol/abi/outputs.ts'

const created = protocolAbi.find((item) => item.type === 'event' && item.name === 'EventCreated')
if (created?.type !== 'event') throw new Error('the protocol has a log EventCreated')

/** The decoded log and view of an event with these texts. */
const readBoth = (text: string) => {
  const inData = created.inputs.filter(({ indexed }) => !indexed)
  const data = encodeAbiParameters(
    inData.map(({ type }) => ({ type })),
    inData.map(({ type }) => (type === 'string' ? text : 1n)),
  )
  const topics = [toEventSelector(created), `0x${'1'.padStart(64, '0')}`, `0x${'0'.repeat(64)}`] as const
  const log = decodeLog({ topics, data, blockNumber: 7n, blockHash: '0xb1', transactionHash: '0x7f', logIndex: 3 })
  if (log?.kind !== 'event') throw new Error('not read as a new event')
  const core = encodeFunctionResult({
    ...{ abi: protocolAbi, functionName: 'getHedgeEventCore' },
    result: [1n, zeroAddress, text, text, 1n, 1n, 1n, 0, true, true, 1n, true],
  })
  const { name, underlying } = call('getHedgeEventCore', [1n]).decode(core)
  return { id: log.id, inLog: log.underlying, name, underlying }
}

test.each([
  ['Latin letters', 'x'.repeat(50_000), 'x'.repeat(256)],
  ['random bytes', randomBytes(25_000).toString('hex'), undefined],
  ['pairs of surrogates that the limit divides', `x${'😀'.repeat(1_000)}`, `x${'😀'.repeat(127)}\uFFFD`],
])(
  'a text of 50 KB of %s is truncated to the same 256 characters from an event’s log and from its view',
  (_, text, expected) => {
    const { id, inLog, name, underlying } = readBoth(text)
    expect(id).toBe(1n)
    expect([inLog.length, name.length]).toEqual([256, 256])
    expect([name, underlying]).toEqual([inLog, inLog])
    expect(inLog).toBe(expected ?? text.slice(0, 256))
    // The database index rejects longer keys, and the whole write fails with them.
    expect(Buffer.byteLength(inLog)).toBeLessThan(2_704)
  },
)

test('texts of the maximum length of requests are not truncated', () => {
  const text = '€'.repeat(256)
  expect(readBoth(text)).toEqual({ id: 1n, inLog: text, name: text, underlying: text })
})
