import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bytesOf } from '../../src/api/bytes.ts'

test('texts are encoded one after the other, as their concatenation is', () => {
  const text = fc.string({ unit: 'binary' })
  const lone = fc.constantFrom('\ud800', '\udc00', 'é', '€', '😀')
  fc.assert(
    fc.property(fc.array(fc.oneof(text, lone)), (texts) => {
      const encoded = bytesOf(...texts)
      expect(encoded).toStrictEqual(Buffer.concat(texts.map((it) => Buffer.from(it))))
    }),
  )
})

test('the bytes of a short text keep no other memory alive', () => {
  expect(bytesOf('{}').buffer.byteLength).toBe(2)
})
