/**
 * The lifecycle of one event from an integrator's view: it uses only the HTTP API and a local signer. Plans work out
 * approvals, costs, deadlines and gas.
 *
 *     npm start               # in one terminal
 *     npm run lifecycle       # in another; all three markets
 *
 * A creator, a liquidity provider and a hedger act; two oracles settle. At the end every balance is compared with the
 * protocol's equations, to the smallest unit.
 */
import { argv, exit } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { type Address, createWalletClient, erc20Abi, http, parseEther } from 'viem'
import { generatePrivateKey, type LocalAccount, mnemonicToAccount, privateKeyToAccount } from 'viem/accounts'
import { ApiUnreachable, type Client, createClient } from './api-client.ts'

export type Market = { readonly chainId: number; readonly token: 'usdc' | 'usdt' }

export const markets: readonly Market[] = [
  { chainId: 8453, token: 'usdc' },
  { chainId: 56, token: 'usdc' },
  { chainId: 56, token: 'usdt' },
]

/** Gain or loss of each wallet, and the expected value from the equations, in token units. */
export type Outcome = Record<'creator' | 'lp' | 'hedger', { readonly actual: bigint; readonly expected: bigint }>

const DEV_MNEMONIC = 'test test test test test test test test test test test junk'
const dev = (addressIndex: number): LocalAccount => mnemonicToAccount(DEV_MNEMONIC, { addressIndex })

const RATE = 1_000_000n
const terms = { initialRate: 11_400_000n, strike: 12_000_000n, payoutCap: 13_500_000n, premiumRate: 27_322n }
const settlement = 12_500_000n
const secondsToExpiry = 15

type Stats = { settledAt: number; triggered: boolean; settlementPrice: string }
type Deposit = { shares: string; premiumsEarned: string; premiumsClaimed: string }

/**
 * Runs the whole lifecycle on one market and returns the balances. Throws at the first step with an unexpected result.
 */
export const runLifecycle = async (
  baseUrl: string,
  market: Market,
  print: (line: string) => void,
): Promise<Outcome> => {
  const api = await createClient(baseUrl, market.chainId)
  const token = market.token === 'usdc' ? api.chain.usdc : api.chain.usdt
  if (token === null) throw new Error(`chain ${market.chainId} has no ${market.token}`)
  const say = (text: string): void => print(`[${market.chainId} ${market.token}] ${text}`)

  const unit = 10n ** BigInt(await api.node.readContract({ address: token, abi: erc20Abi, functionName: 'decimals' }))
  const seed = 5_000n * unit
  const stake = 2_500n * unit + 1n
  const notional = 10_000n * unit
  const wallets = { creator: newWallet(), lp: newWallet(), hedger: newWallet() }
  for (const wallet of Object.values(wallets)) await fund(api, token, wallet.address, 20_000n * unit)
  const before = await balances(api, token, wallets)
  const fees = await api.get<Record<'creationFee' | 'hedgerFeeRate' | 'payoutFeeRate' | 'lpProfitFeeRate', string>>(
    `/hedge/fees?chainId=${market.chainId}`,
  )

  // The chain's clock may be ahead of ours, as in a sandbox, or behind it.
  const now = Math.max(Number((await api.node.getBlock()).timestamp), Math.floor(Date.now() / 1_000))
  const expiry = now + secondsToExpiry
  const created = await api.act(wallets.creator, 'create-event', {
    name: 'Cedi protection',
    underlying: 'USD/GHS',
    ...strings(terms),
    expiry: String(expiry),
    allowExternalLp: true,
    initialLiquidity: String(seed),
    strikeAbove: true,
    paymentToken: token,
  })
  const eventId = only(created.transaction.created.eventIds).id
  const seedId = only(created.transaction.created.depositIds).id
  say(`event ${eventId} created, expires in ${secondsToExpiry} s`)

  const deposited = await api.act(wallets.lp, 'deposit', { eventId, amount: String(stake) })
  const depositId = only(deposited.transaction.created.depositIds).id
  say(`deposit ${depositId} made`)

  const bought = await api.act(wallets.hedger, 'buy-protection', { eventId, notional: String(notional) })
  const positionId = only(bought.transaction.created.positionIds).id
  say(`position ${positionId} bought for ${bought.plan.cost?.total} units`)

  while ((await api.node.getBlock()).timestamp < expiry) await sleep(500)
  for (const oracle of [dev(1), dev(2)]) {
    await api.act(oracle, 'submit-rate', { eventId, price: String(settlement) })
  }
  let stats = await api.get<Stats>(`/hedge/events/${market.chainId}/${eventId}/stats`)
  while (stats.settledAt === 0) {
    await sleep(500)
    stats = await api.get<Stats>(`/hedge/events/${market.chainId}/${eventId}/stats`)
  }
  say(`settled at ${stats.settlementPrice}, triggered: ${stats.triggered}`)

  const claimed = await api.act(wallets.hedger, 'claim-payout', { positionId })
  say(`payout of ${claimed.plan.payout?.net} units claimed, after a fee of ${claimed.plan.payout?.fee}`)
  const stakes = { creator: seedId, lp: depositId }
  const shares = { creator: 0n, lp: 0n }
  for (const role of ['creator', 'lp'] as const) {
    shares[role] = BigInt((await api.get<Deposit>(`/hedge/deposits/${market.chainId}/${stakes[role]}`)).shares)
    await api.act(wallets[role], 'claim-premiums', { depositId: stakes[role] })
    await api.act(wallets[role], 'withdraw-capital', { depositId: stakes[role] })
  }
  say('premiums claimed, capital withdrawn')

  const premium = (notional * terms.premiumRate) / RATE
  const cost = premium + (premium * BigInt(fees.hedgerFeeRate)) / RATE
  const payout = (notional * (settlement - terms.strike)) / terms.initialRate
  const income = (role: 'creator' | 'lp'): bigint => {
    const all = shares.creator + shares.lp
    const earned = (((premium * 10n ** 18n) / all) * shares[role]) / 10n ** 18n
    const capital = ((seed + stake - payout) * shares[role]) / all
    return net(earned, fees.lpProfitFeeRate) + capital
  }
  const expected = {
    creator: income('creator') - seed - BigInt(fees.creationFee),
    lp: income('lp') - stake,
    hedger: net(payout, fees.payoutFeeRate) - cost,
  }
  const after = await balances(api, token, wallets)
  return {
    creator: { actual: after.creator - before.creator, expected: expected.creator },
    lp: { actual: after.lp - before.lp, expected: expected.lp },
    hedger: { actual: after.hedger - before.hedger, expected: expected.hedger },
  }
}

const newWallet = (): LocalAccount => privateKeyToAccount(generatePrivateKey())

const net = (gross: bigint, feeRate: string): bigint => gross - (gross * BigInt(feeRate)) / RATE

const strings = (values: Record<string, bigint>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]))

const only = <T>(items: readonly T[]): T => {
  const [item] = items
  if (item === undefined || items.length !== 1) throw new Error(`expected one log, found ${items.length}`)
  return item
}

/** Funds a new wallet with coins for gas and with tokens, from a development account of the sandbox. */
const fund = async (api: Client, token: Address, to: Address, amount: bigint): Promise<void> => {
  const donor = createWalletClient({ account: dev(9), transport: http(api.chain.rpcUrl) })
  const hashes = [
    await donor.sendTransaction({ chain: null, to, value: parseEther('1') }),
    await donor.writeContract({
      chain: null,
      address: token,
      abi: erc20Abi,
      functionName: 'transfer',
      args: [to, amount],
    }),
  ]
  for (const hash of hashes) await api.node.waitForTransactionReceipt({ hash })
}

type Wallets = Record<'creator' | 'lp' | 'hedger', LocalAccount>

const balances = async (api: Client, token: Address, wallets: Wallets): Promise<Record<keyof Wallets, bigint>> => {
  const of = (wallet: LocalAccount): Promise<bigint> =>
    api.node.readContract({ address: token, abi: erc20Abi, functionName: 'balanceOf', args: [wallet.address] })
  return { creator: await of(wallets.creator), lp: await of(wallets.lp), hedger: await of(wallets.hedger) }
}

const main = async (): Promise<void> => {
  const baseUrl = argv[2] ?? 'http://127.0.0.1:3000'
  for (const market of markets) {
    const outcome = await runLifecycle(baseUrl, market, console.log)
    console.table(outcome)
    for (const [role, { actual, expected }] of Object.entries(outcome)) {
      if (actual !== expected) throw new Error(`the ${role}'s balance is off by ${actual - expected} units`)
    }
  }
}

if (argv[1] !== undefined && import.meta.url === pathToFileURL(argv[1]).href) {
  await main().catch((error: unknown) => {
    if (!(error instanceof ApiUnreachable)) throw error
    console.error(`${error.message}: run \`npm start\` in another terminal first (or \`npm run lifecycle -- URL\`)`)
    exit(1)
  })
}
