import {
  concatHex,
  type Hex,
  numberToHex,
  parseTransaction,
  serializeTransaction,
  type TransactionSerializable,
  toRlp,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { bytesAfter, invalidV, signedFor } from '../../src/tx/signed-for.ts'

const account = privateKeyToAccount(`0x${'01'.repeat(32)}`)
const to = '0x000000000000000000000000000000000000dEaD'
const fees = { maxFeePerGas: 7n, maxPriorityFeePerGas: 1n }
const accessList = [{ address: to, storageKeys: Array<Hex>(20).fill(`0x${'5f'.repeat(32)}`) }] as const
const hash = `0x01${'5f'.repeat(31)}` as const

const ofChain = (chainId: number): readonly (readonly [string, TransactionSerializable])[] => [
  ['without a type', { type: 'legacy', chainId, to, gasPrice: 7n, data: `0x${'ab'.repeat(300)}` }],
  ['of EIP-2930', { type: 'eip2930', chainId, to, gasPrice: 7n, accessList }],
  ['of EIP-1559', { type: 'eip1559', chainId, to, ...fees, accessList, value: 1n, nonce: 300 }],
  ['of EIP-4844', { type: 'eip4844', chainId, to, ...fees, maxFeePerBlobGas: 1n, blobVersionedHashes: [hash] }],
  [
    'of EIP-7702',
    {
      ...{ type: 'eip7702', chainId, to, ...fees },
      authorizationList: [
        { address: to, chainId: 1, nonce: 1, r: `0x${'1'.repeat(64)}`, s: `0x${'2'.repeat(64)}`, yParity: 0 },
      ],
    },
  ],
]

describe.each([1, 56, 8453, 2 ** 31, 2 ** 45])('the chain id %d', (chainId) => {
  test.each(ofChain(chainId))(
    'the chain id is read from a transaction %s, signed and unsigned',
    async (_, transaction) => {
      const signed = await account.signTransaction(transaction)
      for (const text of [signed, serializeTransaction(transaction)]) {
        expect(parseTransaction(text).chainId).toBe(chainId)
        expect(signedFor(text)).toBe(BigInt(chainId))
      }
    },
  )
})

test('a transaction without a chain id has no chain', async () => {
  expect(signedFor(await account.signTransaction({ type: 'legacy', to, gasPrice: 7n }))).toBeNull()
})

test('no chain is read from an incomplete transaction, which the node rejects', async () => {
  const signed = await account.signTransaction({ type: 'eip1559', chainId: 1, to, ...fees, accessList })
  for (let length = 2; length < signed.length; length += 1)
    expect(signedFor(signed.slice(0, length) as Hex)).toBeUndefined()
  expect(signedFor(`${signed}00`)).toBeUndefined()
  for (const other of [
    '0x',
    '0x00',
    '0x02',
    '0x02c0',
    '0x02f8',
    '0x02ff',
    '0xc0',
    '0xff',
    '0x1234',
    '0x05c101',
  ] as const)
    expect(signedFor(other)).toBeUndefined()
  // A chain id that is a list, or longer than any number; more fields than any transaction has.
  for (const fields of [[[]], [`0x${'11'.repeat(33)}`], Array(100).fill('0x01')])
    expect(signedFor(concatHex(['0x02', toRlp(fields)]))).toBeUndefined()
})

test('a transaction has 14 fields at most, and a chain id 32 bytes', () => {
  const chainOf = (fields: readonly Hex[]) => signedFor(concatHex(['0x02', toRlp(fields)]))
  expect([chainOf(Array(14).fill('0x01')), chainOf(Array(15).fill('0x01'))]).toEqual([1n, undefined])
  const [widest, wider] = [32, 33].map((bytes): Hex => `0x${'11'.repeat(bytes)}`)
  expect([chainOf([widest ?? '0x']), chainOf([wider ?? '0x'])]).toEqual([BigInt(widest ?? 0), undefined])
  expect(chainOf(['0x', '0x01'])).toBeUndefined()
})

test.each([
  ['0x', undefined],
  ['0x1a', undefined],
  ['0x1b', null],
  ['0x1c', null],
  ['0x1d', undefined],
  ['0x22', undefined],
  ['0x23', undefined],
  ['0x24', undefined],
  ['0x25', 1n],
  ['0x26', 1n],
] as const)('a transaction without a type whose v is %s has the chain %s', (v, chain) => {
  expect(signedFor(toRlp(['0x01', '0x01', '0x01', to, '0x', '0x', v, '0x01', '0x01']))).toBe(chain)
})

test('a v that no signature has is found, and not that of other bytes', async () => {
  const ofV = (v: number, r: Hex = '0x01', s: Hex = '0x01') =>
    invalidV(toRlp(['0x01', '0x01', '0x01', to, '0x', '0x', v === 0 ? '0x' : numberToHex(v), r, s]))
  for (const v of [0, 1, 26, 29, 34]) expect(ofV(v)).toBe(BigInt(v))
  for (const v of [27, 28, 35, 36, 2 ** 40]) expect(ofV(v)).toBeNull()
  // Before signing, v is the chain id.
  expect([ofV(1, '0x', '0x'), ofV(1, '0x01', '0x'), ofV(1, '0x', '0x01')]).toEqual([null, 1n, 1n])
  expect(invalidV(await account.signTransaction({ type: 'eip1559', chainId: 1, to, ...fees }))).toBeNull()
  for (const other of ['0x', '0xc0', '0x1234'] as const) expect(invalidV(other)).toBeNull()
})

test('lists inside a transaction are not decoded, however deep they are nested', () => {
  // A decoder that enters each of 100,000 lists overflows its stack and finds no chain id.
  const size = (bytes: number): Hex => `0xfb${bytes.toString(16).padStart(8, '0')}`
  const headers = Array.from({ length: 100_000 }, (_, at) => size(5 * (99_999 - at)))
  const deep = concatHex(headers)
  const payload = concatHex(['0x01', deep])
  expect(signedFor(concatHex(['0x02', size((payload.length - 2) / 2), payload]))).toBe(1n)
})

test('bytes after a complete transaction are counted, those of an incomplete one are none', async () => {
  for (const [, transaction] of ofChain(8453)) {
    const signed = await account.signTransaction(transaction)
    expect([bytesAfter(signed), bytesAfter(`${signed}0000`)]).toEqual([0, 2])
    expect(bytesAfter(signed.slice(0, -2) as Hex)).toBe(0)
  }
  // Not a transaction: the node decides.
  for (const other of ['0x', '0x02', '0x02c0ff', '0xc0ff', '0x1234', '0x05c101ff'] as const)
    expect(bytesAfter(other)).toBe(0)
})

test('a transaction with blobs around it has no bytes after it', () => {
  const signed = toRlp(Array<Hex>(14).fill('0x01'), 'bytes')
  // The wrapper of EIP-7594 has a version, too.
  for (const around of [
    [0xc0, 0xc0, 0xc0],
    [0x01, 0xc0, 0xc0, 0xc0],
  ]) {
    const lists = Buffer.concat([Buffer.from(signed), Buffer.from(around)])
    const list = Buffer.concat([Buffer.from([0xc0 + lists.length]), lists])
    const wrapped = concatHex(['0x03', `0x${list.toString('hex')}`])
    expect([bytesAfter(wrapped), bytesAfter(`${wrapped}01`)]).toEqual([0, 1])
  }
})
