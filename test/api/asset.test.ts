import { expect, test } from 'vitest'
import { createAsset } from '../../src/api/asset.ts'

test('a document is read once, however many requests wait for it, and again only after a failure', async () => {
  let reads = 0
  const asset = createAsset('text/plain', async () => {
    reads += 1
    if (reads === 1) throw new Error('the file is not there yet')
    return Buffer.from('x'.repeat(2_000))
  })
  const failed = await Promise.allSettled([asset(), asset()])
  expect([reads, failed.map(({ status }) => status)]).toEqual([1, ['rejected', 'rejected']])

  const [first, second] = await Promise.all([asset(), asset()])
  expect([reads, Object.keys(first.bodies).sort(), second === first]).toEqual([2, ['br', 'gzip', 'identity'], true])
})
