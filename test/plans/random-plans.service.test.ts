import { decodeFunctionData, encodeAbiParameters, formatUnits, type Hex, keccak256, maxUint256 } from 'viem'
import { afterAll, expect, inject, test } from 'vitest'
import { erc20Abi } from '../../src/abi/erc20.generated.ts'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import type { Plan } from '../../src/plans/answer/schema.ts'
import { createRandom } from '../../src/sandbox/story/random.ts'
import { createLedger } from '../support/ledger.ts'
import { blockingCodes, planOf, startPlanApps } from '../support/plan-apps.ts'
import { createPlanRunner } from '../support/plan-runner.ts'
import { type Action, createRandomActions } from '../support/random-actions.ts'
import { byForm, seed } from '../support/repetitions.ts'
import { DAI, DAY, type NewEvent, USDC, useProtocol } from '../support/use-protocol.ts'

const PLANS = byForm(5, 500)

const profile = inject('profile')
const protocol = await useProtocol(profile)
const { usdc, dai, send, read, balance, mint, approve, mineAt, now, buy, settle, people } = protocol
const apps = await startPlanApps(protocol)
afterAll(apps.close)
const { execute, revertOf, encodeTransfer } = createPlanRunner(protocol)

const random = createRandom(seed)
const { int, pick } = random
const ledger = createLedger()
const { next, chance } = createRandomActions({ protocol, ledger, tokens: [usdc, dai], random })
const tokens = [usdc, dai]

type Body = Readonly<Record<string, unknown>>

/** Terms that the protocol refuses, one fault at a time. */
const absurd = (event: NewEvent): NewEvent => ({
  ...event,
  ...pick<Partial<NewEvent>>([
    { premiumRate: 0n },
    { premiumRate: 1_000_001n },
    { expiryDate: 1n },
    { expiryDate: event.expiryDate + 400n * DAY },
    { strike: 0n },
    { initialRate: maxUint256 },
    { strikeAbove: !event.strikeAbove },
    { paymentToken: people.heir },
    { underlying: 'X'.repeat(40) },
    { quoteNonce: `0x${'1'.repeat(64)}` },
    { initialLiquidity: maxUint256 },
  ]),
})

/** The path and the intent of an action; null for one without a plan. */
const intentOf = ([, name, args]: Action): readonly [action: string, body: Body] | null => {
  const [first, second, third] = args as readonly unknown[]
  if (name === 'createEvent') {
    const { expiryDate, ...event } = chance(20) ? absurd(first as NewEvent) : (first as NewEvent)
    return ['create-event', { ...event, expiry: expiryDate }]
  }
  if (name === 'deposit') return ['deposit', { eventId: first, amount: second }]
  if (name === 'buyProtection') return ['buy-protection', { eventId: first, notional: second }]
  if (name === 'claimPayout') return ['claim-payout', { positionId: first }]
  if (name === 'claimPremiums') return ['claim-premiums', { depositId: first }]
  if (name === 'withdrawCapital') return ['withdraw-capital', { depositId: first }]
  if (name === 'withdrawCreatorEarnings') return ['withdraw-creator-earnings', { eventId: first }]
  if (name === 'setPoolSettings')
    return ['set-pool-settings', { eventId: first, poolOpen: second, allowExternalLp: third }]
  if (name === 'submitRate') return ['submit-rate', { eventId: first, price: second }]
  return null
}

const functionNames = [
  ...['createEvent', 'deposit', 'deposit', 'buyProtection', 'buyProtection', 'buyProtection', 'claimPayout'],
  ...['claimPremiums', 'withdrawCapital', 'withdrawCreatorEarnings', 'setPoolSettings', 'submitRate'],
] as const

/** An action of a random kind, each as often as the list has it; actions without a plan are done on the way. */
const nextPlanned = async (): Promise<Action> => {
  const wanted = pick(functionNames)
  for (;;) {
    const action = await next()
    const [from, name, args] = action
    if (name === wanted) return action
    const isRare = name === 'pause' ? 20 : 40
    if (intentOf(action) === null && chance(isRare)) await direct([from, name, args])
  }
}

/** Does an action that has no plan, if the protocol accepts it. */
const direct = async ([from, name, args]: Action): Promise<void> => {
  const sent = await send(from, name as 'settleEvent', args as readonly [bigint, bigint]).catch(() => undefined)
  ledger.add(sent?.logs ?? [], usdc)
}

/** Leaves a wallet with some, too few or no tokens, and with another allowance. */
const changeMoney = async (from: Hex, need: bigint): Promise<void> => {
  for (const token of tokens) {
    const unit = token === usdc ? USDC : DAI
    const some = (need * BigInt(int(0, 150))) / 100n
    if (chance(45)) await approve(from, pick([0n, 1n, unit * BigInt(int(1, 5_000)), some, maxUint256]), token)
    const held = await balance(from, token)
    if (chance(12) && held > 0n) await protocol.transact(from, token, transferOf(chance(30) ? held : held - some / 2n))
    else if (held < unit * 1_000n && chance(70)) await mint(from, 1_000_000n * unit, token)
  }
}

const transferOf = (amount: bigint): Hex => encodeTransfer(people.heir, amount < 0n ? 0n : amount)

/** The wallet's and the protocol's balances of both tokens. */
const balancesOf = async (from: Hex) => {
  const accounts = [...new Set([from, protocol.diamond])]
  const entries = accounts.flatMap((account) => tokens.map((token) => [account, token] as const))
  return Promise.all(
    entries.map(async ([account, token]) => [`${account} ${token}`, await balance(account, token)] as const),
  )
}

const changesOf = (
  before: Awaited<ReturnType<typeof balancesOf>>,
  after: Awaited<ReturnType<typeof balancesOf>>,
): Record<string, string> =>
  Object.fromEntries(
    before.flatMap(([key, from], at) => {
      const to = after[at]?.[1] ?? 0n
      return from === to ? [] : [[key, String(to - from)]]
    }),
  )

type Numbers =
  | `${'event' | 'deposit' | 'position'}Id`
  | `${'gross' | 'net'}${'Payout' | 'Amount'}`
  | ('fee' | 'amount' | 'premiumPaid' | 'platformFee' | 'totalCost')

type Log = readonly [name: string, args: Readonly<Partial<Record<Numbers, bigint>>>]

const find = (logs: readonly Log[], ...names: readonly string[]): Log[1] | undefined =>
  logs.find(([name]) => names.includes(name))?.[1]

/** What the logs say was created. */
const createdIn = (logs: readonly Log[]): Record<string, number> => {
  const { eventId } = find(logs, 'EventCreated', 'HedgeEventCreated') ?? {}
  const { depositId } = find(logs, 'DepositCreated', 'LiquidityDeposited') ?? {}
  const { positionId } = find(logs, 'PositionCreated', 'ProtectionPurchased') ?? {}
  return Object.fromEntries(
    Object.entries({ eventId, depositId, positionId }).flatMap(([name, id]) => (id ? [[name, Number(id)]] : [])),
  )
}

/** What the logs say was paid. */
const paidIn = (logs: readonly Log[]): { gross: string; fee: string; net: string } | null => {
  const texts = (gross = 0n, fee = 0n, net = 0n) => ({ gross: String(gross), fee: String(fee), net: String(net) })
  const payout = find(logs, 'PayoutClaimed')
  if (payout) return texts(payout.grossPayout, payout.fee, payout.netPayout)
  const premiums = find(logs, 'PremiumsClaimed')
  if (premiums) return texts(premiums.grossAmount, premiums.fee, premiums.netAmount)
  const whole = find(logs, 'CapitalWithdrawn', 'CreatorEarningsWithdrawn')
  return whole ? texts(whole.amount, 0n, whole.amount) : null
}

const checkDigest = ({ chainId, from, steps, digest }: Plan): void => {
  const calls = steps.map(({ transaction: { to, value, data } }) => ({
    to: to as Hex,
    value: BigInt(value),
    data: data as Hex,
  }))
  const types = [
    { type: 'uint256' },
    { type: 'address' },
    {
      type: 'tuple[]',
      components: [
        { name: 'to', type: 'address' },
        { name: 'value', type: 'uint256' },
        { name: 'data', type: 'bytes' },
      ],
    },
  ] as const
  expect(digest).toBe(keccak256(encodeAbiParameters(types, [BigInt(chainId), from as Hex, calls])))
}

/** The amounts that the calldata moves, as the summary must have them. */
const checkSummary = ({ steps, summary, cost }: Plan): void => {
  for (const { transaction } of steps) {
    const { functionName, args = [] } = decodeFunctionData({
      abi: [...protocolAbi, ...erc20Abi],
      data: transaction.data as Hex,
    })
    const [first, second, third] = args as readonly bigint[]
    const struct = first as unknown as NewEvent
    const amounts: Readonly<Record<string, readonly (bigint | undefined)[]>> = {
      approve: [second],
      deposit: [second],
      buyProtection: [second, third],
      // An event without liquidity names none; its approval is for the creation fee.
      createEvent: functionName === 'createEvent' && struct.initialLiquidity > 0n ? [struct.initialLiquidity] : [],
    }
    for (const amount of amounts[functionName] ?? []) {
      if (amount === undefined || cost === null || cost.decimals === null) continue
      const isAny = functionName === 'approve' && amount === maxUint256
      expect(summary).toContain(`${isAny ? 'any amount of' : formatUnits(amount, cost.decimals)} ${cost.symbol}`)
    }
    if (typeof first === 'bigint' && functionName !== 'approve') expect(summary).toMatch(new RegExp(`\\b${first}\\b`))
  }
}

const figures = { plans: 0, executable: 0, reverted: 0, gas: [] as number[] }
const seen = { codes: new Map<string, number>(), actions: new Map<string, number>(), methods: new Set<unknown>() }
const count = (of: Map<string, number>, key: string): void => void of.set(key, (of.get(key) ?? 0) + 1)

/** Checks a plan that claims to be executable against the receipts of its requests. */
const checkExecutable = async (plan: Plan, from: Hex, body: Body): Promise<void> => {
  const { eventCreationFee: creationFee } = await read('getHedgeFeeConfig')
  const before = await balancesOf(from)
  const receipts = await execute(plan)
  for (const { receipt, request } of receipts) {
    expect([receipt.status, await revertOf(receipt)]).toEqual(['success', null])
    figures.gas.push(Number(request.gas) / Number(receipt.gasUsed))
  }
  const paidForGas = receipts.reduce((sum, { receipt }) => sum + receipt.gasUsed * receipt.effectiveGasPrice, 0n)
  expect(BigInt(plan.gasCost?.total ?? 0n)).toBeGreaterThanOrEqual(paidForGas)
  const logs = receipts.at(-1)?.logs as readonly Log[]

  const { predicted, ...created } = plan.effects.created
  expect(created).toEqual(createdIn(logs))
  const planned = plan.effects.balanceChanges.map(({ account, token, amount }) => [`${account} ${token}`, amount])
  expect(Object.fromEntries(planned)).toEqual(changesOf(before, await balancesOf(from)))

  const paid = paidIn(logs)
  expect(plan.payout && { gross: plan.payout.gross, fee: plan.payout.fee, net: plan.payout.net }).toEqual(paid)
  expect(plan.steps.at(-1)?.payout ?? null).toEqual(plan.payout)

  const { cost } = plan
  expect(cost === null).toBe(!['create-event', 'deposit', 'buy-protection'].includes(plan.action))
  if (cost !== null) {
    const parts = { premium: cost.premium, platformFee: cost.platformFee, total: cost.total }
    const bought = find(logs, 'PositionCreated', 'ProtectionPurchased')
    const isCreated = plan.action === 'create-event'
    if (bought) {
      const { premiumPaid, platformFee, totalCost } = bought
      expect(parts).toEqual({
        premium: String(premiumPaid),
        platformFee: String(platformFee),
        total: String(totalCost),
      })
      expect((await read('getHedgePosition', [bought.positionId ?? 0n])).premiumPaid).toBe(premiumPaid)
      expect(plan.steps.at(-1)?.transaction.args.maxCost).toBe(cost.maxCost)
    } else {
      const amount = BigInt(String(isCreated ? body.initialLiquidity : body.amount))
      expect(parts).toEqual({
        premium: null,
        platformFee: isCreated ? String(creationFee) : null,
        total: String(amount + (isCreated ? creationFee : 0n)),
      })
    }
    const slack = bought ? (BigInt(cost.total) * BigInt((body.maxCostBps as number) ?? 0)) / 10_000n : 0n
    expect([cost.exact, cost.maxCost]).toEqual([true, String(BigInt(cost.total) + slack)])
  }
  const token = plan.action === 'create-event' ? (body.paymentToken as Hex) : usdc
  ledger.add(logs, token)
  if (plan.action === 'create-event' && profile === 'deployed')
    await send(from, 'setPoolSettings', [BigInt(created.eventId ?? 0), chance(90), chance(90)])
}

/** Checks that a plan that claims not to be executable reverts with a code that it announces. */
const checkReverts = async (plan: Plan, from: Hex, body: Body): Promise<void> => {
  const blocking = blockingCodes(plan)
  for (const code of blocking) count(seen.codes, code)
  expect(blocking.length).toBeGreaterThan(0)
  if (body.force !== true) {
    expect([plan.walletCalls, plan.steps.filter(({ request }) => request)]).toEqual([null, []])
    return
  }
  const before = await balancesOf(from)
  const receipts = await execute(plan)
  const codes = await Promise.all(receipts.map(({ receipt }) => revertOf(receipt)))
  const reverted = codes.filter((code) => code !== null)
  expect(reverted.length).toBeGreaterThan(0)
  // The deadline of a purchase in an event that is over is the second of its plan, so it may pass before.
  const isOver = blocking.some((code) => code === 'event_expired' || code === 'event_settled')
  const possible = isOver ? [...blocking, 'past_deadline'] : blocking
  for (const code of reverted) expect(possible).toContain(code)
  expect(changesOf(before, await balancesOf(from))).toEqual({})
}

const planAndSend = async (nth: number): Promise<void> => {
  const planned = await nextPlanned()
  const [from] = planned
  const intent = intentOf(planned)
  if (intent === null) throw new Error('expected an action with a plan')
  const [action, wanted] = chance(4) ? (['revoke-approval', { token: pick(tokens) }] as const) : intent
  const need = BigInt(String(wanted.amount ?? wanted.notional ?? wanted.initialLiquidity ?? USDC))
  await changeMoney(from, need > 10n ** 30n ? 0n : need)
  const isPurchase = action === 'buy-protection'
  const body = {
    ...wanted,
    ...(isPurchase && chance(30) && { maxCostBps: pick([0, 1, 50, 10_000]) }),
    ...(isPurchase && chance(20) && { deadlineSeconds: int(60, 86_400) }),
    ...((isPurchase || action === 'deposit' || action === 'create-event') &&
      chance(30) && { approval: pick(['exact', 'unlimited']) }),
    ...(chance(70) && { force: true }),
  }
  const api = apps.pick({ method: nth % 2 === 0 ? 'eth_simulateV1' : 'eth_call', isDaiConfigured: chance(50) })
  const plan = await planOf(api, action, { from, ...body })
  expect(plan.method).toBe(nth % 2 === 0 ? 'eth_simulateV1' : 'eth_call')
  figures.plans += 1
  count(seen.actions, plan.executable ? action : `${action} (not executable)`)
  checkDigest(plan)
  checkSummary(plan)
  for (const { request } of plan.steps) if (request) expect(plan.walletCalls?.calls.length).toBe(plan.steps.length)
  try {
    if (plan.executable) {
      figures.executable += 1
      await checkExecutable(plan, from, body)
    } else {
      figures.reverted += 1
      await checkReverts(plan, from, body)
    }
  } catch (failure) {
    console.log(`plan ${nth}: ${JSON.stringify(plan, null, 1)}`)
    throw failure
  }
}

type Fate = 'pays' | 'pays nothing' | 'awaits rates' | 'is open'

/** An event with deposits and positions of both LPs and hedgers. */
const prepareEvent = async (token: Hex, fate: Fate): Promise<void> => {
  const { creator, hedger, secondHedger, lp, secondLp } = protocol
  const unit = token === usdc ? USDC : DAI
  const expiryDate = (await now()) + (fate === 'is open' ? 30n * DAY : 3_600n)
  const seeded = { initialLiquidity: 50_000n * unit, paymentToken: token, expiryDate }
  ledger.add((await send(creator, 'createEvent', [protocol.newEvent(seeded)])).logs, token)
  const id = await read('getTotalHedgeEvents')
  if (profile === 'deployed') await send(creator, 'setPoolSettings', [id, true, true])
  for (const whose of [lp, secondLp]) ledger.add((await send(whose, 'deposit', [id, 2_000n * unit])).logs, token)
  for (const whose of [hedger, hedger, secondHedger])
    ledger.add((await buy(whose, id, 3_000n * unit + BigInt(int(0, 999_999)))).logs, token)
  if (fate === 'awaits rates') await mineAt(expiryDate)
  if (fate.startsWith('pays')) ledger.add((await settle(id, fate === 'pays' ? 13_000_000n : 11_000_000n)).logs, token)
}

/** Events of every fate in both tokens; the open ones come last, since actions prefer the newest. */
const prepare = async (): Promise<void> => {
  for (const fate of ['pays', 'pays nothing', 'awaits rates', 'is open', 'is open'] as const)
    for (const token of tokens) await prepareEvent(token, fate)
}

test(
  `random plans on the ${profile} profile (seed ${seed}) do what they say, to the unit`,
  async () => {
    await prepare()
    for (let nth = 0; nth < PLANS; nth += 1) {
      if (chance(5)) await mineAt((await now()) + BigInt(int(1, 72)) * 3_600n)
      await planAndSend(nth)
    }
    const sorted = figures.gas.toSorted((a, b) => a - b)
    console.log(
      [
        `TEST_SEED=${seed} ${profile}: ${figures.plans} plans, ${figures.executable} executable, ${figures.reverted} not`,
        `gas limit / gas used from ${sorted[0]?.toFixed(2)} to ${sorted.at(-1)?.toFixed(2)}`,
        [...seen.actions].map(([name, times]) => `${name} ${times}`).join(', '),
        `codes: ${[...seen.codes].map(([code, times]) => `${code} ${times}`).join(', ')}`,
      ].join('; '),
    )
  },
  byForm(120_000, 7_200_000),
)
