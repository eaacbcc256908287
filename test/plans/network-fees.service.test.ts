import { afterEach, expect, test } from 'vitest'
import { linearCode } from '../support/linear-code.ts'
import { planOf, usePlans } from '../support/plan-apps.ts'
import { USDC, useProtocol } from '../support/use-protocol.ts'

/** The contracts of OP-stack networks that know fees. */
const GAS_PRICE_ORACLE = '0x420000000000000000000000000000000000000F'
const L1_BLOCK = '0x4200000000000000000000000000000000000015'

const protocol = await useProtocol()
const { client, creator, lp, send, read, newEvent, approve } = protocol
const api = usePlans({ nodes: [{ url: protocol.url, deployment: protocol.deployment }] })

afterEach(async () => {
  for (const address of [GAS_PRICE_ORACLE, L1_BLOCK] as const) await client.setCode({ address, bytecode: '0x' })
})

/** An event without deposits, and a wallet that has approved nothing. */
const prepare = async (): Promise<bigint> => {
  await send(creator, 'createEvent', [newEvent({ initialLiquidity: 0n })])
  await approve(lp, 0n)
  return read('getTotalHedgeEvents')
}

/** A deposit with its approval: two steps. */
const deposit = async (eventId?: bigint) =>
  planOf(api, 'deposit', { from: lp, eventId: eventId ?? (await prepare()), amount: 1_000n * USDC })

type Plan = Awaited<ReturnType<typeof deposit>>
const limits = ({ steps }: Plan): bigint[] => steps.map(({ request }) => BigInt(request?.gas ?? 0))
const gasCostOf = ({ gasCost }: Plan) => {
  if (gasCost === null) throw new Error('expected the cost of the gas')
  const { symbol: _, ...parts } = gasCost
  return Object.fromEntries(Object.entries(parts).map(([part, wei]) => [part, BigInt(wei)]))
}

const dataFee = { 'getL1FeeUpperBound(uint256)': { constant: 77_777n } }
const sum = (values: readonly bigint[]): bigint => values.reduce((total, value) => total + value, 0n)

test.each([
  ['since Isthmus', 1_000_003n, (gas: bigint) => (gas * 1_000_003n) / 1_000_000n],
  ['since Jovian', 1_000_003n * 100n * 1_000_000n, (gas: bigint) => gas * 1_000_003n * 100n],
])('the cost of the gas has the fee for the operator as the network computes it %s', async (_, perMillion, feeOf) => {
  const constant = 123_456_789n
  const oracle = linearCode({ ...dataFee, 'getOperatorFee(uint256)': { constant, perMillion } })
  await client.setCode({ address: GAS_PRICE_ORACLE, bytecode: oracle })
  const plan = await deposit()
  expect(limits(plan)).toHaveLength(2)
  const { execution = 0n, ...fees } = gasCostOf(plan)
  const operatorFee = sum(limits(plan).map((gas) => feeOf(gas) + constant))
  expect(fees).toEqual({ dataFee: 2n * 77_777n, operatorFee, total: execution + 2n * 77_777n + operatorFee })
})

test('the fee for the operator comes from its parameters when the oracle has no function for it', async () => {
  const block = linearCode({
    'operatorFeeScalar()': { constant: 2_500_000n },
    'operatorFeeConstant()': { constant: 900n },
  })
  await client.setCode({ address: GAS_PRICE_ORACLE, bytecode: linearCode(dataFee) })
  await client.setCode({ address: L1_BLOCK, bytecode: block })
  const plan = await deposit()
  expect(gasCostOf(plan)).toMatchObject({
    dataFee: 2n * 77_777n,
    operatorFee: sum(limits(plan).map((gas) => (gas * 2_500_000n) / 1_000_000n + 900n)),
  })
})

test('a network without these contracts has neither fee', async () => {
  expect(gasCostOf(await deposit())).toMatchObject({ dataFee: 0n, operatorFee: 0n })
})

test('coins that do not cover the fee for the operator are reported', async () => {
  const oracle = linearCode({ ...dataFee, 'getOperatorFee(uint256)': { constant: 10n ** 15n } })
  await client.setCode({ address: GAS_PRICE_ORACLE, bytecode: oracle })
  const [eventId, balance] = [await prepare(), await client.getBalance({ address: lp })]
  const { total = 0n, operatorFee = 0n } = gasCostOf(await deposit(eventId))
  await client.setBalance({ address: lp, value: total - operatorFee })
  try {
    const { issues } = await deposit(eventId)
    expect(issues).toContainEqual(expect.objectContaining({ code: 'insufficient_gas_funds' }))
  } finally {
    await client.setBalance({ address: lp, value: balance })
  }
})
