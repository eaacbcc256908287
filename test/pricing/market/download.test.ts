import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { download } from '../../../src/pricing/market/download.ts'

test.each(['http://bob:hidden@127.0.0.1:9/path?key=hidden', 'http://127.0.0.1:9/hidden'])(
  'a publisher that cannot be read is told by its host alone: %s',
  async (url) => {
    const fault = await download(url).catch((error: unknown) => error)
    expect(inspect(fault)).toContain('127.0.0.1:9')
    expect(inspect(fault)).not.toContain('hidden')
  },
)
