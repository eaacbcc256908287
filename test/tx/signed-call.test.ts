import { fromRlp, type Hex, recoverTransactionAddress, type TransactionSerializable, toRlp } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import { signedCallOf } from '../../src/tx/signed-call.ts'

const account = privateKeyToAccount(`0x${'01'.repeat(32)}`)
const to = '0x000000000000000000000000000000000000dEaD'
const fees = { maxFeePerGas: 7n, maxPriorityFeePerGas: 1n }
const accessList = [{ address: to, storageKeys: Array<Hex>(20).fill(`0x${'5f'.repeat(32)}`) }] as const
const word = (digit: string): Hex => `0x${digit.repeat(64)}`
const authorization = { address: to, chainId: 1, nonce: 1, r: word('1'), s: word('2'), yParity: 0 } as const
const call = { to, nonce: 300, gas: 210_000n, value: 5n, data: `0x${'ab'.repeat(300)}` } as const

const transactions: readonly TransactionSerializable[] = [
  { type: 'legacy', chainId: 8453, gasPrice: 7n, ...call },
  { type: 'legacy', gasPrice: 7n, ...call },
  { type: 'legacy', chainId: 2 ** 45, gasPrice: 7n, ...call, nonce: 0, value: 0n, data: '0x' },
  { type: 'eip2930', chainId: 8453, gasPrice: 7n, accessList, ...call },
  { type: 'eip1559', chainId: 8453, ...fees, accessList, ...call },
  { type: 'eip1559', chainId: 8453, ...fees, ...call, data: '0x', value: 0n, nonce: 0 },
  { type: 'eip7702', chainId: 8453, ...fees, authorizationList: [authorization], ...call },
]

test.each(transactions)('the call and the sender of a $type transaction are read', async (transaction) => {
  const signed = await account.signTransaction(transaction)
  const sender = await recoverTransactionAddress({ serializedTransaction: signed as never })
  expect(sender).toBe(account.address)
  expect(await signedCallOf(signed, () => true)).toEqual({
    ...{ from: account.address, to, gas: 210_000n },
    ...{ nonce: BigInt(transaction.nonce ?? 0), value: transaction.value, input: transaction.data },
  })
})

test('a transaction whose v no signature has has no call', async () => {
  const fields = fromRlp(await account.signTransaction({ type: 'legacy', gasPrice: 7n, ...call }), 'hex') as Hex[]
  const callWith = (v: Hex) => signedCallOf(toRlp(fields.with(6, v)), () => true)
  expect(await callWith(fields[6] ?? '0x')).toMatchObject({ from: account.address })
  for (const v of ['0x', '0x01', '0x1a', '0x1d', '0x1e', '0x21', '0x22'] as const) expect(await callWith(v)).toBeNull()
})

test('the sender is recovered whatever the length of the fields is', async () => {
  const input = (bytes: number): Hex => `0x${'ab'.repeat(bytes)}`
  // The fields take 55 bytes or fewer, and then more.
  for (let bytes = 0; bytes < 40; bytes += 1)
    for (const transaction of [
      { type: 'legacy', chainId: 1, gasPrice: 7n, to, nonce: 1, gas: 1n, data: input(bytes) },
      { type: 'eip1559', chainId: 1, ...fees, to, nonce: 1, gas: 1n, data: input(bytes) },
    ] as const) {
      const found = await signedCallOf(await account.signTransaction(transaction), () => true)
      expect([found?.from, found?.input]).toEqual([account.address, input(bytes)])
    }
})

test('a transaction that creates a contract is not judged by its target', async () => {
  const creation = await account.signTransaction({ type: 'eip1559', chainId: 8453, ...fees, data: '0x00' })
  const judged: Hex[] = []
  expect(await signedCallOf(creation, (target) => judged.push(target) > 0)).toBeNull()
  expect(judged).toEqual([])
})

test('other targets and malformed transactions have no call', async () => {
  const signed = await account.signTransaction({ type: 'eip1559', chainId: 8453, ...fees, ...call })
  expect(await signedCallOf(signed, () => false)).toBeNull()
  for (let length = 2; length < signed.length; length += 1)
    expect(await signedCallOf(signed.slice(0, length) as Hex, () => true)).toBeNull()
  const creation = await account.signTransaction({ type: 'eip1559', chainId: 8453, ...fees, data: '0x00' })
  expect(await signedCallOf(creation, () => true)).toBeNull()
  for (const other of ['0x', '0x00', '0x02', '0x02c0', '0xc0', '0xff', '0x05c101', '0x03c101'] as const)
    expect(await signedCallOf(other, () => true)).toBeNull()
})

test.each(['legacy', 'eip1559'] as const)('a %s transaction with a malformed field has no call', async (type) => {
  const isLegacy = type === 'legacy'
  const signed = await account.signTransaction(
    isLegacy ? { type, chainId: 8453, gasPrice: 7n, ...call } : { type, chainId: 8453, ...fees, ...call },
  )
  const list = fromRlp(isLegacy ? signed : `0x${signed.slice(4)}`, 'hex') as (Hex | Hex[])[]
  const rebuilt = (fields: typeof list): Hex => `0x${isLegacy ? '' : '02'}${toRlp(fields).slice(2)}`
  const callWith = (at: number, field: Hex | Hex[]) => signedCallOf(rebuilt(list.with(at, field)), () => true)
  expect(await signedCallOf(rebuilt(list), () => true)).toMatchObject({ from: account.address })
  // The nonce, the gas, the value, and the three fields of the signature.
  for (const at of [...(isLegacy ? [0, 2, 4] : [1, 4, 6]), list.length - 3, list.length - 2, list.length - 1]) {
    expect([at, await callWith(at, [])]).toEqual([at, null])
    expect([at, await callWith(at, `0x01${'00'.repeat(32)}`)]).toEqual([at, null])
  }
  const target = isLegacy ? 3 : 5
  expect(await callWith(target, `${to}00`)).toBeNull()
  expect(await callWith(target, [])).toBeNull()
  expect(await callWith(target + 2, [])).toBeNull()
  expect(await signedCallOf(`${signed}0`, () => true)).toBeNull()
})
