import { builders } from '../../src/tx/builders.ts'
import { compile } from '../../src/tx/compile.ts'
import { compareEncodings } from '../support/encodings.ts'

/*
 * Compares the calldata of every builder with that of viem and of ethers for 100,000 random bodies each, and stops at
 * the first difference. Takes a seed, so that a failure can be repeated.
 */

const RUNS = 100_000
const seed = Number(process.argv[2] ?? 1)

for (const builder of builders.map(compile)) {
  compareEncodings(builder, RUNS, seed)
  console.log(`${builder.path.padEnd(44)} ${RUNS} equal`)
}
