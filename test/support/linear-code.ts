import { concatHex, type Hex, numberToHex, size, toFunctionSelector } from 'viem'

/** What a function returns: `constant` and, for each million of its argument, `perMillion`. */
type Linear = { readonly constant: bigint; readonly perMillion?: bigint }

const push = (value: bigint): Hex => concatHex(['0x7f', numberToHex(value, { size: 32 })])

/** The code of a contract whose functions are linear in their only argument; any other call reverts. */
export const linearCode = (functions: Readonly<Record<string, Linear>>): Hex => {
  const entries = Object.entries(functions)
  // The selector: calldata word 0, shifted right by 224 bits.
  const head: Hex = '0x5f3560e01c'
  const branch = (signature: string, at: number): Hex =>
    concatHex(['0x8063', toFunctionSelector(`function ${signature}`), '0x1461', numberToHex(at, { size: 2 }), '0x57'])
  const end: Hex = '0x5f5ffd'
  // JUMPDEST; argument * perMillion / 1e6 + constant; returned as a word.
  const body = ({ constant, perMillion = 0n }: Linear): Hex =>
    concatHex([
      '0x5b',
      push(1_000_000n),
      push(perMillion),
      '0x600435',
      '0x02',
      '0x04',
      push(constant),
      '0x01',
      '0x5f5260205ff3',
    ])
  const BRANCH_BYTES = 11
  let at = size(head) + entries.length * BRANCH_BYTES + size(end)
  const branches: Hex[] = []
  const bodies: Hex[] = []
  for (const [signature, linear] of entries) {
    branches.push(branch(signature, at))
    bodies.push(body(linear))
    at += size(body(linear))
  }
  return concatHex([head, ...branches, end, ...bodies])
}
