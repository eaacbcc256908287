/**
 * The lifecycle of one event from an integrator's view: it uses only the HTTP API, a local signer and standard
 * receipts.
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
import {
  type Address,
  createWalletClient,
  erc20Abi,
  http,
  parseAbi,
  parseEther,
  parseEventLogs,
  type TransactionReceipt,
} from 'viem'
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

const logs = parseAbi([
  'event EventCreated(uint256 indexed eventId, address indexed creator, string underlying, uint256 strike, uint256 premiumRate, uint256 expiryDate, uint256 initialLiquidity)',
  'event DepositCreated(uint256 indexed eventId, uint256 indexed depositId, address indexed lp, uint256 amount, uint256 shares)',
  'event PositionCreated(uint256 indexed eventId, uint256 indexed positionId, address indexed hedger, uint256 notional, uint256 premiumPaid, uint256 platformFee, uint256 totalCost)',
])

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

  const approve = (signer: LocalAccount, amount: bigint): Promise<TransactionReceipt> =>
    api.send(signer, '/tx/erc20/approve', { token, spender: api.chain.diamond, amount: String(amount) })

  await approve(wallets.creator, BigInt(fees.creationFee) + seed)
  const expiry = Number((await api.node.getBlock()).timestamp) + secondsToExpiry
  const created = await api.send(wallets.creator, '/tx/hedge/create-event', {
    name: 'Cedi protection',
    underlying: 'USD/GHS',
    ...strings(terms),
    expiry: String(expiry),
    allowExternalLp: true,
    initialLiquidity: String(seed),
    strikeAbove: true,
    paymentToken: token,
    signature: '0x',
    quoteTimestamp: '0',
    quoteNonce: `0x${'0'.repeat(64)}`,
  })
  const { eventId } = only(parseEventLogs({ abi: logs, eventName: 'EventCreated', logs: created.logs })).args
  const { depositId: seedId } = only(
    parseEventLogs({ abi: logs, eventName: 'DepositCreated', logs: created.logs }),
  ).args
  say(`event ${eventId} created, expires in ${secondsToExpiry} s`)

  await approve(wallets.lp, stake)
  const deposited = await api.send(wallets.lp, '/tx/hedge/deposit', { eventId: Number(eventId), amount: String(stake) })
  const { depositId } = only(parseEventLogs({ abi: logs, eventName: 'DepositCreated', logs: deposited.logs })).args
  say(`deposit ${depositId} made`)

  const premium = (notional * terms.premiumRate) / RATE
  const cost = premium + (premium * BigInt(fees.hedgerFeeRate)) / RATE
  await approve(wallets.hedger, cost)
  const bought = await api.send(wallets.hedger, '/tx/hedge/buy-protection', {
    eventId: Number(eventId),
    notional: String(notional),
    maxCost: String(cost),
    deadline: String(expiry),
  })
  const { positionId } = only(parseEventLogs({ abi: logs, eventName: 'PositionCreated', logs: bought.logs })).args
  say(`position ${positionId} bought for ${cost} units`)

  while ((await api.node.getBlock()).timestamp < expiry) await sleep(500)
  for (const oracle of [dev(1), dev(2)]) {
    await api.send(oracle, '/tx/oracle/submit-rate', { eventId: Number(eventId), price: String(settlement) })
  }
  let stats = await api.get<Stats>(`/hedge/events/${market.chainId}/${eventId}/stats`)
  while (stats.settledAt === 0) {
    await sleep(500)
    stats = await api.get<Stats>(`/hedge/events/${market.chainId}/${eventId}/stats`)
  }
  say(`settled at ${stats.settlementPrice}, triggered: ${stats.triggered}`)

  await api.send(wallets.hedger, '/tx/hedge/claim-payout', { positionId: Number(positionId) })
  const stakes = { creator: seedId, lp: depositId }
  const shares = { creator: 0n, lp: 0n }
  for (const role of ['creator', 'lp'] as const) {
    shares[role] = BigInt((await api.get<Deposit>(`/hedge/deposits/${market.chainId}/${stakes[role]}`)).shares)
    await api.send(wallets[role], '/tx/hedge/claim-premiums', { depositId: Number(stakes[role]) })
    await api.send(wallets[role], '/tx/hedge/withdraw-capital', { depositId: Number(stakes[role]) })
  }
  say('payout and premiums claimed, capital withdrawn')

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
