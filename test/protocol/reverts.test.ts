import { readdirSync, readFileSync } from 'node:fs'
import { toFunctionSelector } from 'viem'
import { describe, expect, test } from 'vitest'
import { erc20Abi } from '../../src/abi/erc20.generated.ts'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { revertByCode, reverts } from '../../src/protocol/reverts/catalogue.ts'
import { revertOf } from '../../src/protocol/reverts/decode.ts'
import { deployedReverts } from '../vectors/deployed-reverts.ts'
import { ELSEWHERE, unreachableReverts } from '../vectors/unreachable-reverts.ts'

/** A wallet and a token of tests: what they revert with is no reason of the protocol or of a token that it accepts. */
const outside = ['mocks/BatchAccount.sol', 'mocks/StrictToken.sol']

const folder = new URL('../../contracts/', import.meta.url)
const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.sol') && !outside.includes(path))
  .map((path) => ({ path, source: readFileSync(new URL(path, folder), 'utf8').replace(/\/\/.*/g, '') }))

/** The texts of a source: constants of the library of reasons, and literals in `require` and `revert`. */
const textsOf = (source: string): string[] =>
  [
    /string internal constant \w+ =\s*"([^"]*)"/g,
    /\brequire\([^;]*?"([^"]*)"\s*\);/g,
    /\brevert\("([^"]*)"\)/g,
  ].flatMap((pattern) => [...source.matchAll(pattern)].map(([, text = '']) => text))

/** The custom errors of a source, with the types of their arguments. */
const errorsOf = (source: string): string[] =>
  [...source.matchAll(/\berror (\w+)\(([^)]*)\);/g)].map(
    ([, name, inputs = '']) => `${name}(${inputs.split(',').map((input) => input.trim().split(' ')[0])})`,
  )

const found = sources.flatMap(({ path, source }) =>
  [...textsOf(source), ...errorsOf(source)].map((reason) => [reason, path] as const),
)
const catalogued = new Set(reverts.flatMap(({ reasons }) => reasons.map((it) => it)))
const functions: ReadonlySet<string> = new Set(
  [...protocolAbi, ...erc20Abi].flatMap((item) => (item.type === 'function' ? [item.name] : [])),
)

test('the catalogue has every revert text and every custom error of the contracts', () => {
  expect(found.filter(([reason]) => !catalogued.has(reason))).toEqual([])
  const reasons = new Set(found.map(([reason]) => reason))
  expect(reasons.size).toBeGreaterThan(100)
  for (const known of ['Past deadline', 'Transfer amount exceeds balance', 'SafeERC20FailedOperation(address)'])
    expect(reasons).toContain(known)
})

test('every revert of the contracts has a text of the library of reasons, a literal or a custom error', () => {
  const other = sources.flatMap(({ path, source }) =>
    [...source.matchAll(/\b(?:require|revert)\w*\([^;]*\);/g)]
      .map(([statement]) => statement)
      .filter((it) => !/Reasons\.\w+|"[^"]+"\s*\);$|^revert(?:With)?\(|^require(?:Owner|Room|FeeCap)\(/.test(it))
      .map((statement) => [path, statement]),
  )
  expect(other).toEqual([])
})

describe('a row of the catalogue', () => {
  test('has a code of its own in snake case, in the order of codes', () => {
    const codes = reverts.map(({ code }) => code)
    expect(new Set(codes).size).toBe(codes.length)
    expect(codes).toEqual(codes.toSorted())
    for (const code of codes) expect(code).toMatch(/^[a-z]+(?:_[a-z0-9]+)*$/)
  })

  test('names functions of the protocol or of tokens, each once', () => {
    expect(functions.size).toBeGreaterThan(80)
    for (const { code, functions: named } of reverts) {
      expect([code, named.filter((name) => !functions.has(name))]).toEqual([code, []])
      expect([code, new Set(named).size]).toEqual([code, named.length])
    }
  })

  test('has one sentence for the cause and one for the hint', () => {
    for (const { code, cause, hint } of reverts)
      for (const sentence of [cause, hint])
        expect([code, sentence]).toEqual([code, expect.stringMatching(/^[A-Z][^.!?]*(?:\.\d[^.]*)?\.$/)])
  })

  test('shares a reason only with rows of other functions', () => {
    for (const reason of catalogued) {
      const rows = reverts.filter(({ reasons }) => reasons.includes(reason))
      const named = rows.flatMap((row) => row.functions)
      expect([reason, new Set(named).size]).toEqual([reason, named.length])
    }
  })
})

describe('a reason of a deployment', () => {
  const rows = Object.entries(deployedReverts).flatMap(([name, reasons]) => reasons.map((it) => [name, it] as const))

  test.each(rows)('of %s has a row for that function: %s', (name, reason) => {
    const isFor = (listed: readonly string[]): boolean => listed.length === 0 || listed.includes(name)
    const fitting = reverts.filter((row) => row.reasons.includes(reason) && isFor(row.functions))
    expect(fitting).toHaveLength(1)
    if (/^\w+\([a-z\d,]*\)$/.test(reason) && !reason.startsWith('Panic')) {
      expect(revertOf({ data: toFunctionSelector(reason), message: '' }, name)).toMatchObject({
        code: fitting[0]?.code,
        reason,
      })
    } else if (!reason.startsWith('Panic')) {
      expect(revertOf({ data: null, message: `execution reverted: ${reason}` }, name).code).toBe(fitting[0]?.code)
    }
  })
})

test('a code that only other deployments return for a function has one of their texts for it', () => {
  const elsewhere = unreachableReverts.filter(({ why }) => why === ELSEWHERE).flatMap(({ pairs }) => pairs)
  expect(elsewhere.length).toBeGreaterThan(5)
  for (const [codes, names] of elsewhere)
    for (const code of codes)
      for (const name of names) {
        const { reasons } = revertByCode(code)
        expect([code, name, reasons.some((it) => deployedReverts[name]?.includes(it))]).toEqual([code, name, true])
      }
})

test.each([
  ['Cost exceeds maxCost', 'Cost exceeds slippage limit', 'cost_exceeds_max'],
  ['Past deadline', 'Transaction deadline expired', 'past_deadline'],
  ['Exceeds capacity', 'Insufficient pool liquidity for payout', 'exceeds_capacity'],
  ['Insufficient allowance', 'ERC20InsufficientAllowance(address,uint256,uint256)', 'insufficient_allowance'],
  ['Insufficient balance', 'ERC20InsufficientBalance(address,uint256,uint256)', 'insufficient_balance'],
  ['Function not found', 'Diamond: Function does not exist', 'function_not_mounted'],
])('"%s" and "%s" share the code %s', (one, other, code) => {
  expect(reverts.find((row) => row.code === code)?.reasons).toEqual(expect.arrayContaining([one, other]))
})
