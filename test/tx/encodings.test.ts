import { test } from 'vitest'
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
