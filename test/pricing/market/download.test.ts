import { inspect } from 'node:util'
import { strToU8, zipSync } from 'fflate'
import { describe, expect, test } from 'vitest'
import { download } from '../../../src/pricing/market/download.ts'
import { startPublisher } from '../../support/publisher.ts'

test.each(['http://bob:hidden@127.0.0.1:9/path?key=hidden', 'http://127.0.0.1:9/hidden'])(
  'a publisher that cannot be read is told by its host alone: %s',
  async (url) => {
    const fault = await download(url).catch((error: unknown) => error)
    expect(inspect(fault)).toContain('127.0.0.1:9')
    expect(inspect(fault)).not.toContain('hidden')
  },
)

describe('an archive', () => {
  const MIB = 2 ** 20
  const zipOf = (files: Readonly<Record<string, string>>) =>
    zipSync(Object.fromEntries(Object.entries(files).map(([name, text]) => [name, strToU8(text)])))

  const downloaded = async (body: Uint8Array): Promise<string> => {
    const publisher = await startPublisher(() => ({ body }))
    try {
      return await download(publisher.url)
    } finally {
      await publisher.close()
    }
  }

  test('of many files has its first CSV file unpacked and no other, so that a broken one after it is no fault', async () => {
    const archive = Buffer.from(
      zipOf({ 'readme.txt': 'no rates', 'rates.csv': 'date,close\n', 'more.csv': '0'.repeat(1_000) }),
    )
    // The data of a file follow its name, and no block of them begins with these bits.
    const data = archive.indexOf('more.csv') + 'more.csv'.length
    archive.fill(0xff, data, data + 4)
    expect(await downloaded(archive)).toBe('date,close\n')
  })

  test.each([
    ['as it says', (archive: Uint8Array) => archive],
    [
      'against what it says',
      (archive: Uint8Array) => {
        // The unpacked size is at 22 of the file's own header, and at 24 of that in the directory.
        const bytes = Buffer.from(archive)
        bytes.writeUInt32LE(100, 22)
        bytes.writeUInt32LE(100, bytes.indexOf(Buffer.from('PK\x01\x02', 'latin1')) + 24)
        return bytes
      },
    ],
  ])('whose CSV file unpacks to more than 100 times its bytes, %s, is refused', async (_, forge) => {
    const archive = forge(zipOf({ 'rates.csv': '0'.repeat(20 * MIB) }))
    await expect(downloaded(archive)).rejects.toThrow(/rates unpack to more than 100 times/)
  })

  test('without a CSV file is refused', async () => {
    await expect(downloaded(zipOf({ 'readme.txt': 'no rates' }))).rejects.toThrow('no CSV file in the archive')
  })
})
