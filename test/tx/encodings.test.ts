import { expect, test } from 'vitest'
import { compileDecoder } from '../../src/protocol/decode.ts'
import { builders } from '../../src/tx/builders.ts'
import { compile } from '../../src/tx/compile.ts'
import { compareEncodings } from '../support/encodings.ts'

/** `npm run encodings` compares 100,000 of each. */
const RUNS = 100

test.each(builders.map((builder) => [builder.path, compile(builder)] as const))(
  '%s encodes random arguments as viem and ethers do',
  (_, builder) => {
    compareEncodings(builder, RUNS, 1)
  },
)

test('every body without lists is decoded without its schema', () => {
  const left = builders.map(compile).filter(({ body }) => compileDecoder(body) === undefined)
  expect(left.map(({ path }) => path)).toEqual(['/tx/governance/diamond-cut'])
})
