/**
 * The lifecycle of one event from an integrator's view: the client plans each action and executes it with a wallet.
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
import { ConnectionError, createClient, ExecutionError, formatAmount, type Plan } from 'fx-protection-client'
import { type Address, createPublicClient, createWalletClient, erc20Abi, http, parseEther } from 'viem'
import { generatePrivateKey, type LocalAccount, mnemonicToAccount, privateKeyToAccount } from 'viem/accounts'

export type Market = { readonly chainId: number; readonly token: 'usdc' | 'usdt' }

export const markets: readonly Market[] = [
  { chainId: 8453, token: 'usdc' },
  { chainId: 56, token: 'usdc' },
  { chainId: 56, token: 'usdt' },
]

type Print = (line: string) => void

/** Gain or loss of each wallet, and the expected value from the equations, in token units. */
export type Outcome = Record<'creator' | 'lp' | 'hedger', { readonly actual: bigint; readonly expected: bigint }>

const DEV_MNEMONIC = 'test test test test test test test test test test test junk'
const dev = (addressIndex: number): LocalAccount => mnemonicToAccount(DEV_MNEMONIC, { addressIndex })

const RATE = 1_000_000n
const terms = { initialRate: 11_400_000n, strike: 12_000_000n, payoutCap: 13_500_000n, premiumRate: 27_322n }
const settlement = 12_500_000n

/** Runs the whole lifecycle on one market and returns the balances. Throws at the first unexpected result. */
export const runLifecycle = async (
  baseUrl: string,
  { chainId, token: symbol }: Market,
  print: Print,
  secondsToExpiry = 15,
): Promise<Outcome> => {
  const client = createClient({ baseUrl })
  const chain = (await client.get('/v1/chains')).data.find((each) => each.chainId === chainId)
  const token = chain?.[symbol] ?? null
  if (chain === undefined || token === null) throw new Error(`chain ${chainId} has no ${symbol}`)
  const node = createPublicClient({ transport: http(chain.rpcUrl), pollingInterval: 200 })
  const walletOf = (account: LocalAccount) => createWalletClient({ account, transport: http(chain.rpcUrl) })
  /** Plans an action and executes it; again when another sender used the nonce of the wallet meanwhile. */
  const act = async (account: LocalAccount, planFor: (wallet: { chainId: number; from: Address }) => Promise<Plan>) => {
    for (let attempts = 1; ; attempts++) {
      const plan = await planFor({ chainId, from: account.address })
      try {
        return { plan, ...(await client.execute(plan, walletOf(account))) }
      } catch (error) {
        if (!(error instanceof ExecutionError && error.code === 'nonce_used') || attempts === 5) throw error
      }
    }
  }

  const { data: fees } = await client.get('/v1/hedge/fees', { chainId })
  const unit = 10n ** BigInt(chain.paymentDecimals[symbol === 'usdc' ? 'USDC' : 'USDT'] ?? 0)
  const show = (amount = 0n): string => `${formatAmount(amount, String(unit).length - 1)} ${symbol}`
  const say = (text: string): void => print(`[${chainId} ${symbol}] ${text}`)
  const [seed, stake, notional, funds] = [5_000n * unit, 2_500n * unit + 1n, 10_000n * unit, 20_000n * unit]
  const gainOf = async ({ address }: LocalAccount): Promise<bigint> =>
    (await node.readContract({ address: token, abi: erc20Abi, functionName: 'balanceOf', args: [address] })) - funds

  const wallets = { creator: newAccount(), lp: newAccount(), hedger: newAccount() }
  // A donor for each token, so that markets of one chain can run at the same time.
  const donor = walletOf(dev(symbol === 'usdc' ? 9 : 6))
  for (const { address } of Object.values(wallets)) {
    const transfer = { abi: erc20Abi, functionName: 'transfer', args: [address, funds] } as const
    await donor.sendTransaction({ chain: null, to: address, value: parseEther('1') })
    const hash = await donor.writeContract({ chain: null, address: token, ...transfer })
    await node.waitForTransactionReceipt({ hash })
  }

  // The chain's clock may be ahead of ours, as in a sandbox, or behind it.
  const now = Math.max(Number((await node.getBlock()).timestamp), Math.floor(Date.now() / 1_000))
  const expiry = BigInt(now + secondsToExpiry)
  const event = { ...terms, expiry, name: 'Cedi protection', underlying: 'USD/GHS', strikeAbove: true }
  const pool = { allowExternalLp: true, initialLiquidity: seed, paymentToken: token }
  const created = await act(wallets.creator, (of) => client.plans.createEvent({ ...of, ...event, ...pool }))
  const [eventId, seedId] = [only(created.eventIds), only(created.depositIds)]
  say(`event ${eventId} created, expires in ${secondsToExpiry} s`)

  const deposited = await act(wallets.lp, (of) => client.plans.deposit({ ...of, eventId, amount: stake }))
  const depositId = only(deposited.depositIds)
  say(`deposit ${depositId} made`)

  const bought = await act(wallets.hedger, (of) => client.plans.buyProtection({ ...of, eventId, notional }))
  const positionId = only(bought.positionIds)
  say(`position ${positionId} bought for ${show(bought.plan.cost?.total)}`)

  while ((await node.getBlock()).timestamp < expiry) await sleep(500)
  for (const oracle of [dev(1), dev(2)]) {
    await act(oracle, (of) => client.plans.submitRate({ ...of, eventId, price: settlement }))
  }
  for await (const settled of client.settlements.follow({ since: 0, chainId, eventIds: [eventId] })) {
    say(`settled at ${settled.settlementPrice}, triggered: ${settled.triggered}`)
    break
  }

  const { plan: claim } = await act(wallets.hedger, (of) => client.plans.claimPayout({ ...of, positionId }))
  say(`payout of ${show(claim.payout?.net)} claimed, after a fee of ${show(claim.payout?.fee)}`)
  const shares = { creator: 0n, lp: 0n }
  const stakes = { creator: seedId, lp: depositId }
  for (const role of ['creator', 'lp'] as const) {
    const id = stakes[role]
    shares[role] = (await client.get('/v1/hedge/deposits/{chainId}/{id}', { chainId, id })).data.shares
    await act(wallets[role], (of) => client.plans.claimPremiums({ ...of, depositId: id }))
    await act(wallets[role], (of) => client.plans.withdrawCapital({ ...of, depositId: id }))
  }
  say('premiums claimed, capital withdrawn')

  const premium = (notional * terms.premiumRate) / RATE
  const cost = premium + (premium * fees.hedgerFeeRate) / RATE
  const payout = (notional * (settlement - terms.strike)) / terms.initialRate
  const income = (role: 'creator' | 'lp'): bigint => {
    const all = shares.creator + shares.lp
    const earned = (((premium * 10n ** 18n) / all) * shares[role]) / 10n ** 18n
    return net(earned, fees.lpProfitFeeRate) + ((seed + stake - payout) * shares[role]) / all
  }
  return {
    creator: { actual: await gainOf(wallets.creator), expected: income('creator') - seed - fees.creationFee },
    lp: { actual: await gainOf(wallets.lp), expected: income('lp') - stake },
    hedger: { actual: await gainOf(wallets.hedger), expected: net(payout, fees.payoutFeeRate) - cost },
  }
}

const newAccount = (): LocalAccount => privateKeyToAccount(generatePrivateKey())
const net = (gross: bigint, feeRate: bigint): bigint => gross - (gross * feeRate) / RATE

const only = (ids: readonly number[]): number => {
  const [id] = ids
  if (id === undefined || ids.length !== 1) throw new Error(`expected one id, found ${ids.length}`)
  return id
}

const main = async (): Promise<void> => {
  for (const market of markets) {
    const outcome = await runLifecycle(argv[2] ?? 'http://127.0.0.1:3000', market, console.log)
    console.table(outcome)
    for (const [role, { actual, expected }] of Object.entries(outcome)) {
      if (actual !== expected) throw new Error(`the ${role}'s balance is off by ${actual - expected} units`)
    }
  }
}

if (argv[1] !== undefined && import.meta.url === pathToFileURL(argv[1]).href) {
  await main().catch((error: unknown) => {
    if (!(error instanceof ConnectionError)) throw error
    console.error(`${error.message}: run \`npm start\` in another terminal first (or \`npm run lifecycle -- URL\`)`)
    exit(1)
  })
}
