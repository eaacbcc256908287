import {
  type Address,
  decodeDeployData,
  decodeFunctionData,
  deploylessCallViaBytecodeBytecode,
  encodeFunctionResult,
  getAddress,
  type Hex,
  numberToHex,
  parseAbi,
} from 'viem'
import { expect, test } from 'vitest'
import { balancesAbi } from '../../src/abi/balances.generated.ts'
import { balancesCall, readBalances } from '../../src/chain/balances.ts'
import { flatten, unflatten } from '../../src/chain/rpc/batch.ts'
import { NodeError } from '../../src/chain/rpc/errors.ts'
import type { Request } from '../../src/chain/rpc/requests.ts'
import type { Outcome } from '../../src/chain/rpc/transport.ts'

const address = (seed: number): Address => getAddress(numberToHex(seed, { size: 20 }))

const block = { hash: `0x${'5f'.repeat(32)}` } as const
const spender = address(9)
const carrier = parseAbi(['constructor(bytes code, bytes data)'])

/** Amounts that follow from the addresses; a token with an odd number does not return its balance. */
const balanceOf = (wallet: Address, token: Address) => ({
  isKnown: BigInt(token) % 2n === 0n,
  value: BigInt(token) % 2n === 0n ? BigInt(wallet) * 1_000n + BigInt(token) : 0n,
})
const allowanceOf = (wallet: Address, token: Address) => ({ isKnown: true, value: BigInt(wallet) + BigInt(token) })

/** A node that evaluates calls as the contract does, and records the sizes of the calls of each batch. */
const startNode = () => {
  const batches: [wallets: number, tokens: number][][] = []
  const answer = ({ params, parse }: Request<unknown>): Outcome<unknown> => {
    const [{ data }, at] = params as [{ data: Hex }, unknown]
    expect(at).toEqual({ blockHash: block.hash })
    expect(data.startsWith(deploylessCallViaBytecodeBytecode)).toBe(true)
    const { args } = decodeDeployData({ abi: carrier, bytecode: deploylessCallViaBytecodeBytecode, data })
    const call = decodeFunctionData({ abi: balancesAbi, data: args[1] })
    const [asked, wallets, holdings] = call.args
    expect(asked).toBe(spender)
    batches.at(-1)?.push([wallets.length, holdings.length])
    const result = encodeFunctionResult({
      abi: balancesAbi,
      functionName: 'read',
      result: [
        wallets.map(BigInt),
        holdings.map(({ wallet, token }) => balanceOf(wallet, token)),
        holdings.map(({ wallet, token }) => allowanceOf(wallet, token)),
      ],
    })
    return { ok: true, value: parse(result) }
  }
  const node: Parameters<typeof readBalances>[0] = {
    send: async (batch) => {
      batches.push([])
      return unflatten(batch, flatten<Request<unknown>>(batch).map(answer))
    },
  }
  return { node, batches }
}

test.each([
  [1, 0],
  [1, 2],
  [1, 20],
  [3, 7],
  [41, 1],
  [100, 3],
])('%i wallets with %i tokens each are read in one batch, in their order', async (wallets, tokens) => {
  const { node, batches } = startNode()
  const holdings = Array.from({ length: wallets }, (_, at) => ({
    wallet: address(1_000 + at),
    tokens: Array.from({ length: tokens }, (_, nth) => address(100 * at + nth + 1)),
  }))
  const held = await readBalances(node, block, { spender, holdings })
  expect(held).toEqual(
    holdings.map((it) => ({
      coins: BigInt(it.wallet),
      amounts: it.tokens.map((token) => {
        const { isKnown, value } = balanceOf(it.wallet, token)
        return { balance: isKnown ? value : null, allowance: allowanceOf(it.wallet, token).value }
      }),
    })),
  )
  expect(batches.length).toBe(1)
  const [calls = []] = batches
  expect(calls.length).toBe(Math.ceil(Math.max(wallets, wallets * tokens) / 20))
  expect(Math.max(...calls.flat())).toBeLessThanOrEqual(20)
})

test('an error of the node is an error of the read', async () => {
  const error = new NodeError({ code: -32_000, message: 'header not found' })
  const node: Parameters<typeof readBalances>[0] = {
    send: async (batch) =>
      unflatten(
        batch,
        flatten<Request<unknown>>(batch).map(() => ({ ok: false, error })),
      ),
  }
  const holdings = [{ wallet: address(1), tokens: [address(2)] }]
  await expect(readBalances(node, block, { spender, holdings })).rejects.toMatchObject({ code: 'service_unavailable' })
})

test('an answer with an amount too few or too many is rejected', () => {
  const [wallet, token] = [address(1), address(2)]
  const known = { isKnown: true, value: 7n }
  const request = balancesCall(spender, [wallet], [{ wallet, token }], block.hash)
  const parse = (coins: bigint[], balances: (typeof known)[], allowances: (typeof known)[]) =>
    request.parse(
      encodeFunctionResult({ abi: balancesAbi, functionName: 'read', result: [coins, balances, allowances] }),
    )
  expect(parse([5n], [known], [known])).toEqual({ coins: [5n], amounts: [{ balance: 7n, allowance: 7n }] })
  for (const [coins, balances, allowances] of [
    [[], [known], [known]],
    [[5n, 5n], [known], [known]],
    [[5n], [], [known]],
    [[5n], [known], []],
    [[5n], [known], [known, known]],
  ] as const)
    expect(() => parse([...coins], [...balances], [...allowances])).toThrow(RangeError)
})
