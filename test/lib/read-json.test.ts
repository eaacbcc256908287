import { deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { readJson } from '../../src/lib/http/read-json.ts'
import { truncate } from '../../src/lib/http/truncate.ts'

const MAX = 65_536

async function* inChunks(text: string | Buffer, size = 1_000) {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const read = (text: string) => readJson(inChunks(text), MAX)

const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`

describe('a JSON body', () => {
  test.each([
    ['as long as the limit', JSON.stringify('x'.repeat(MAX - 2))],
    ['nested as deep as the limit', nested(32)],
    ['of as many values as the limit', JSON.stringify(Array.from({ length: 1_024 }, () => 1))],
    ['of many shallow objects', JSON.stringify(Array.from({ length: 400 }, () => ({ a: 1 })))],
    ['of many shallow lists', JSON.stringify(Array.from({ length: 500 }, () => []))],
    ['with brackets in a string', JSON.stringify({ text: '[{'.repeat(100) })],
    ['with brackets after an escaped quote', JSON.stringify({ text: `"${'['.repeat(100)}` })],
    ['with strings that end in backslashes', JSON.stringify(['\\', '\\\\', '[\\"['.repeat(30)])],
    ['with characters of several bytes', JSON.stringify({ text: '漢字𝛑é[['.repeat(50) })],
  ])('%s is parsed', async (_, text) => {
    expect(await read(text)).toEqual(JSON.parse(text))
  })

  test.each([
    ['longer than the limit', JSON.stringify('x'.repeat(MAX - 1)), 'longer than 65536 bytes'],
    ['nested deeper than the limit', nested(33), 'nested more than 32 levels deep'],
    ['nested deeper in an object', `{"a":${nested(32)}}`, 'nested more than 32 levels deep'],
    ['nested deeper after a string that ends in a backslash', `["\\\\",${nested(32)}]`, 'nested more than 32 levels'],
    ['of one value more', JSON.stringify(Array.from({ length: 1_025 }, () => 1)), 'more than 1024 values'],
    ['of too many numbers', JSON.stringify(Array.from({ length: 1_100 }, () => 1)), 'more than 1024 values'],
    ['of too many lists', JSON.stringify(Array.from({ length: 600 }, () => [])), 'more than 1024 values'],
  ])('%s is refused', async (_, text, message) => {
    await expect(read(text)).rejects.toThrow(message)
  })

  test.each(['', '<html>', '{"a":', '"[[', '"\\', ']'.repeat(40)])(
    'that is not valid JSON yields undefined: %s',
    async (text) => {
      expect(await read(text)).toBeUndefined()
    },
  )

  test('is not read past the size limit', async () => {
    let chunks = 0
    async function* endless() {
      for (;;) {
        chunks += 1
        yield Buffer.alloc(1_000, ' ')
      }
    }
    await expect(readJson(endless(), MAX)).rejects.toThrow('longer than')
    expect(chunks).toBe(66)
  })
})

describe('a compressed body', () => {
  const longest = JSON.stringify('x'.repeat(MAX - 2))
  const readPacked = async (bytes: Buffer) => {
    let calls = 0
    const json = await readJson(inChunks(bytes), MAX, undefined, () => {
      calls += 1
    })
    return { json, calls }
  }
  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
  ])('of the format %s is decompressed, up to the limit of its text', async (_, pack) => {
    expect(await readPacked(pack(longest))).toEqual({ json: 'x'.repeat(MAX - 2), calls: 1 })
    await expect(readPacked(pack(`${longest} `))).rejects.toThrow('longer than 65536 bytes')
    await expect(readPacked(pack(`"${'x'.repeat(2 ** 26)}"`))).rejects.toMatchObject({ kind: 'size' })
  })

  test('that is cut off, or something else, is no JSON', async () => {
    const half = gzipSync(longest).subarray(0, 50)
    for (const bytes of [half, Buffer.from('x'), Buffer.from([0x1f])])
      expect((await readPacked(bytes)).json).toBeUndefined()
    expect((await readPacked(Buffer.from('7'))).calls).toBe(0)
  })

  test('is read ahead once it is decompressed', async () => {
    const part = (text: Buffer) => ({ rest: text, values: 0, restore: (parsed: unknown) => [parsed] })
    expect(await readJson(inChunks(gzipSync('{"a":1}')), MAX, part)).toEqual([{ a: 1 }])
  })
})

describe('a body of which a part is read ahead', () => {
  const whole = async (values: number, rest: string, restored: unknown = 'restored') =>
    readJson(inChunks('[1,2]'), MAX, () => ({ rest: Buffer.from(rest), values, restore: () => restored }))

  test('is the rest with that part', async () => {
    expect(await whole(1_023, '[]')).toBe('restored')
  })

  test.each([
    ['has too many values together', 1_024, '[]'],
    ['is nested too deep', 0, nested(33)],
  ])('is parsed as a whole when it %s', async (_, values, rest) => {
    expect(await whole(values, rest)).toEqual([1, 2])
  })

  test('is parsed as a whole without that part, or when it belongs elsewhere', async () => {
    expect(await readJson(inChunks('[1,2]'), MAX, () => null)).toEqual([1, 2])
    expect(
      await readJson(inChunks('[1,2]'), MAX, () => ({ rest: Buffer.from('[]'), values: 0, restore: () => undefined })),
    ).toEqual([1, 2])
  })
})

describe('a text from another service', () => {
  test('is not cut up to 2048 characters', () => {
    const text = 'x'.repeat(2_048)
    expect(truncate(text)).toBe(text)
  })

  test('is cut at the last blank that leaves room for the ellipsis', () => {
    const cut = truncate(`${'a'.repeat(2_046)} ${'b'.repeat(10)}`)
    expect(cut).toBe(`${'a'.repeat(2_046)} …`)
    expect(cut).toHaveLength(2_048)
    expect(truncate(`${'a'.repeat(2_047)} ${'b'.repeat(10)}`)).toBe(' …')
    expect(truncate(`b ${'a'.repeat(2_047)}`)).toBe('b …')
  })

  test('is cut between two words, so that no part of a key remains', () => {
    const cut = truncate(`${'word '.repeat(405)}0123456789abcdef0123456789abcdef and more`)
    expect(cut.length).toBeLessThanOrEqual(2_048)
    expect(cut).toMatch(/word …$/)
    expect(truncate('0123456789'.repeat(1_000))).toBe(' …')
  })
})
