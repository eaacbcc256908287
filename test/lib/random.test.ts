import { expect, test } from 'vitest'
import { max, min, mulDivDown } from '../../src/lib/fixed.ts'
import { normals, uniforms } from '../../src/lib/random.ts'

test('a seed gives the numbers of mulberry32, each from 0 up to 1', () => {
  const uniform = uniforms(1)
  const first = [uniform(), uniform(), uniform()]
  expect(first).toEqual([0.6270739405881613, 0.002735721180215478, 0.5274470399599522])
  const next = uniforms(1)
  expect([next(), next(), next()]).toEqual(first)
  expect(uniforms(2)()).not.toBe(first[0])
})

test('normal numbers are those of Box and Muller', () => {
  const given = [0.5, 0.25, 0, 0.5]
  const normal = normals(() => given.shift() ?? 0)
  expect(normal()).toBeCloseTo(0, 12)
  // Of the uniform number 0 there is a logarithm of 1.
  expect(normal()).toBeCloseTo(0, 12)
  const other = [0.75, 0]
  expect(normals(() => other.shift() ?? 0)()).toBeCloseTo(Math.sqrt(-2 * Math.log(0.25)), 12)
})

test('the lesser and the greater of two amounts, and a product divided downwards', () => {
  expect([min(1n, 2n), min(2n, 1n), max(1n, 2n), max(2n, 1n)]).toEqual([1n, 1n, 2n, 2n])
  expect([mulDivDown(7n, 3n, 2n), mulDivDown(2n, 3n, 7n)]).toEqual([10n, 0n])
  expect(() => mulDivDown(1n, 1n, 0n)).toThrow(RangeError)
})
