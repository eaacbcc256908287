import { expect, test } from 'vitest'
import { skipLogs } from '../../src/chain/rpc/skip-logs.ts'

const log = { address: '0xaa', topics: ['0x01', '0x02'], data: '0x' }

const skipped = async (text: string, size: number, maxBytes = 10_000): Promise<unknown> => {
  const bytes = Buffer.from(text)
  const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  )
  const read: Uint8Array[] = []
  for await (const part of skipLogs(chunks as unknown as AsyncIterable<Uint8Array>, maxBytes)) read.push(part)
  return JSON.parse(Buffer.concat(read).toString())
}

test('the logs of a receipt are left out, wherever its chunks end', async () => {
  for (const logs of [[], [log], [log, { ...log, topics: [] }, log]]) {
    const answer = [{ id: 0, result: { logsBloom: '0x', list: [[1]], log: ['"logs":['], logs, status: '0x1' } }]
    const expected = [{ id: 0, result: { ...answer[0]?.result, logs: [] } }]
    for (const text of [JSON.stringify(answer), JSON.stringify(answer, null, 1)]) {
      for (let size = 1; size <= text.length; size += 1) expect(await skipped(text, size)).toEqual(expected)
    }
  }
})

test('logs count towards the longest answer', async () => {
  const text = JSON.stringify({ logs: Array(100).fill(log) })
  expect(await skipped(text, 50)).toEqual({ logs: [] })
  await expect(skipped(text, 50, text.length - 1)).rejects.toThrow(`longer than ${text.length - 1} bytes`)
})
