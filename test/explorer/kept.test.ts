import { expect, test } from 'vitest'
import { keptOf } from '../../explorer/src/act/kept.ts'

const kept = { chainId: 8453, from: '0x12', hashes: ['0xab'] }

test.each([
  [JSON.stringify({ ...kept, steps: [] }), kept],
  [null, null],
  ['', null],
  ['null', null],
  ['{}', null],
])('what a tab kept as %j is read as %j', (text, read) => {
  expect(keptOf(text)).toEqual(read)
})
