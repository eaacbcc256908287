import { type Address, getAddress, type Hex } from 'viem'
import { inject } from 'vitest'
import type { ChainId, Deployment } from '../../src/protocol/chains.ts'
import type { ProfileName } from '../../src/protocol/profiles.ts'
import { deployProtocol } from '../../src/sandbox/deploy.ts'
import { startAnvil } from '../../src/sandbox/parts/anvil.ts'
import { createAccounts } from '../../src/sandbox/story/accounts.ts'
import { createActions } from '../../src/sandbox/story/actions.ts'
import { factsOf } from './known-chains.ts'
import { mintTo } from './mint.ts'

const USDC = 10n ** 6n
const DAY = 86_400

declare module 'vitest' {
  interface ProvidedContext {
    /** The kind of deployment the test project runs against. */
    profile: ProfileName
  }
}

/**
 * A real node with the protocol, in the profile of the test project, and entities of each kind: event 1 open
 * with two deposits, three positions and claimed and unclaimed premiums; event 2 single-strike, settled and triggered
 * with a claimable position; event 3 closed and empty.
 */
export const startWorld = async (chainId: ChainId = 8453) => {
  const profile = inject('profile')
  const anvil = await startAnvil({ chainId })
  const accounts = createAccounts()
  const [creator, lp, hedger, stranger] = accounts.users
  if (!creator || !lp || !hedger || !stranger) throw new Error('the sandbox has four users')
  const everybody: readonly Address[] = [creator, lp, hedger].map(({ account }) => account.address)

  const { diamond, tokens, deployBlock } = await deployProtocol({
    rpcUrl: anvil.url,
    profile,
    account: accounts.owner.account,
    paymentTokens: [{ symbol: 'USDC', name: 'USD Coin', decimals: 6 }],
    oracles: accounts.oracles.map(({ account }) => account.address),
    oracleAdmin: accounts.owner.account.address,
    fees: {
      creationFee: 5n * USDC,
      hedgerFeeRate: 5_000n,
      payoutFeeRate: 10_000n,
      lpProfitFeeRate: 20_000n,
      creatorLoyaltyRate: 100_000n,
    },
  })
  const usdc = tokens.USDC
  if (usdc === undefined) throw new Error('no USDC was deployed')
  await mintTo(anvil.url, accounts.owner.account, usdc, everybody, 1_000_000n * USDC)

  const token = { symbol: 'USDC', address: usdc, decimals: 6 }
  const actions = createActions({ chainId, rpcUrl: anvil.url, diamond, tokens: [token] })
  for (const wallet of [creator, lp, hedger]) await actions.approve(wallet, usdc)

  const start = await actions.now()
  const upward = {
    name: 'Cedi, upward',
    underlying: 'USD/GHS',
    strike: 12_000_000n,
    payoutCap: 13_500_000n,
    premiumRate: 23_000n,
    expiry: start + 30 * DAY,
    allowExternalLp: true,
    initialLiquidity: 10_000n * USDC,
    initialRate: 11_400_000n,
    strikeAbove: true,
    paymentToken: usdc,
  }
  const single = { ...upward, name: 'Naira, single strike', strike: 10_000_000n, payoutCap: 0n, strikeAbove: false }
  await actions.createEvent(creator, upward)
  await actions.createEvent(creator, { ...single, underlying: 'USD/NGN', expiry: start + DAY })
  await actions.createEvent(creator, { ...upward, name: 'Closed', allowExternalLp: false })
  // Pools begin open in one profile and closed in the other.
  for (const [id, open] of [
    [1n, true],
    [2n, true],
    [3n, false],
  ] as const)
    await actions.setPool(creator, id, open, open)

  await actions.deposit(lp, 1n, 5_000n * USDC)
  await actions.buy(hedger, 1n, 20_000n * USDC)
  await actions.buy(hedger, 1n, 12_345_678n)
  await actions.claimPremiums(lp, 4n)
  await actions.buy(hedger, 1n, 777n * USDC)
  await actions.buy(hedger, 2n, 3_000n * USDC)
  await actions.node.increaseTime({ seconds: 2 * DAY })
  await actions.node.mine({ blocks: 1 })
  await actions.settle(accounts.owner, 2n, 9_000_000n)

  const deployment: Deployment = {
    chainId,
    ...factsOf(chainId),
    diamond: getAddress(diamond),
    usdc: getAddress(usdc),
    usdt: null,
    publicRpcUrl: 'https://base.example/rpc',
    startBlock: deployBlock,
    profile,
  }
  /** The newest transaction and its block. */
  const newest = async (): Promise<{ readonly hash: Hex; readonly block: bigint }> => {
    const { transactions, number } = await actions.client.getBlock()
    const [hash] = transactions
    if (hash === undefined) throw new Error('the newest block is empty')
    return { hash, block: number }
  }
  return {
    anvil,
    actions,
    newest,
    owner: accounts.owner,
    oracles: accounts.oracles,
    creator,
    lp,
    hedger,
    stranger,
    upward,
    deployment,
    close: anvil.close,
  }
}
