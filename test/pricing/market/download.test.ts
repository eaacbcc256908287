import { inspect } from 'node:util'
import { strToU8, zipSync } from 'fflate'
import { describe, expect, test } from 'vitest'
import { download } from '../../../src/pricing/market/download.ts'
import { startPublisher } from '../../support/publisher.ts'

test.each(['http://bob:hidden@127.0.0.1:9/path?key=hidden', 'http://127.0.0.1:9/hidden'])(
  'an error about a publisher names its host only: %s',
  async (url) => {
    const fault = await download(url).catch((error: unknown) => error)
    expect(inspect(fault)).toContain('127.0.0.1:9')
    expect(inspect(fault)).not.toContain('hidden')
  },
)

describe('archives', () => {
  const MIB = 2 ** 20
  const zipOf = (files: Readonly<Record<string, string>>) =>
    zipSync(Object.fromEntries(Object.entries(files).map(([name, text]) => [name, strToU8(text)])))

  const downloaded = async (body: Uint8Array, maxBytes?: number): Promise<string> => {
    const publisher = await startPublisher(() => ({ body }))
    try {
      return await download(publisher.url, maxBytes === undefined ? {} : { maxBytes })
    } finally {
      await publisher.close()
    }
  }

  test('only the first CSV file of an archive is unpacked, so that a broken file after it is no fault', async () => {
    const archive = Buffer.from(
      zipOf({ 'readme.txt': 'no rates', 'rates.csv': 'date,close\n', 'more.csv': '0'.repeat(1_000) }),
    )
    // A file's data follows its name. No valid deflate block begins with these bits.
    const data = archive.indexOf('more.csv') + 'more.csv'.length
    archive.fill(0xff, data, data + 4)
    expect(await downloaded(archive)).toBe('date,close\n')
  })

  test.each([
    ['with a correct size in its header', (archive: Uint8Array) => archive],
    [
      'with a wrong size in its header',
      (archive: Uint8Array) => {
        // The unpacked size is at offset 22 of the file's local header, and at offset 24 of its directory entry.
        const bytes = Buffer.from(archive)
        bytes.writeUInt32LE(100, 22)
        bytes.writeUInt32LE(100, bytes.indexOf(Buffer.from('PK\x01\x02', 'latin1')) + 24)
        return bytes
      },
    ],
  ])('an archive whose CSV file unpacks to more than 100 times its bytes, %s, is rejected', async (_, forge) => {
    const archive = forge(zipOf({ 'rates.csv': '0'.repeat(2 * MIB) }))
    await expect(downloaded(archive)).rejects.toThrow(/rates unpack to more than 100 times/)
  })

  test('an archive whose CSV file unpacks to more bytes than the limit is rejected', async () => {
    const archive = zipOf({ 'rates.csv': '0123456789'.repeat(100) })
    expect(archive.byteLength).toBeLessThan(999)
    expect(await downloaded(archive, 1_000)).toHaveLength(1_000)
    await expect(downloaded(archive, 999)).rejects.toThrow('the rates unpack to more than 999 bytes')
  })

  test('an archive without a CSV file is rejected', async () => {
    await expect(downloaded(zipOf({ 'readme.txt': 'no rates' }))).rejects.toThrow('no CSV file in the archive')
  })
})
