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

test('an answer may be as long as its limit, over all its chunks', async () => {
  const text = JSON.stringify({ logs: [log], status: '0x1' })
  for (const size of [7, text.length]) {
    expect(await skipped(text, size, text.length)).toEqual({ logs: [], status: '0x1' })
    await expect(skipped(text, size, text.length - 1)).rejects.toMatchObject({ kind: 'size' })
  }
})

test.each([
  ['two lists of logs', '{"logs":[1],"a":{"logs":[2]},"b":[3]}', '{"logs":[],"a":{"logs":[]},"b":[3]}'],
  ['spaces after the name and the colon', '{"logs"  :  [1]}', '{"logs"  :  []}'],
  ['a name that ends like it', '{"xlogs":[1],"logs":[2]}', '{"xlogs":[1],"logs":[]}'],
  ['a name that begins like it', '{"logsBloom":[1],"logs":[2]}', '{"logsBloom":[1],"logs":[]}'],
  ['a space within the name', '{"lo gs":[1],"logs":[2]}', '{"lo gs":[1],"logs":[]}'],
  ['a space at the end of a name', '{"logs ":[1],"logs":[2]}', '{"logs ":[1],"logs":[]}'],
  ['a quote before the name', '{"":"","logs":[2]}', '{"":"","logs":[]}'],
  ['other values', '{"logs":"[","a":[1]}', '{"logs":"[","a":[1]}'],
  ['nested lists', '{"logs":[[[1],[2]],3],"a":[4]}', '{"logs":[],"a":[4]}'],
])('%s', async (_, text, expected) => {
  for (const size of [1, 2, 3, 5, 100]) expect(await skipped(text, size)).toEqual(JSON.parse(expected))
})

test('the elements of logs are never passed on, whatever their length', async () => {
  const parts: string[] = []
  async function* body() {
    yield Buffer.from('{"logs":[')
    for (let nth = 0; nth < 50; nth += 1) yield Buffer.from(`${JSON.stringify(log)},`)
    yield Buffer.from('1],"status":"0x1"}')
  }
  for await (const part of skipLogs(body(), 10_000)) parts.push(Buffer.from(part).toString())
  expect(parts).toEqual(['{"logs":[', '],"status":"0x1"}'])
})
