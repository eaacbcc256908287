import { type Address, encodeDeployData, type Hex, parseEther, zeroAddress } from 'viem'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import type { ChainId, Deployment } from '../../src/protocol/chains.ts'
import { deployOn } from '../../src/sandbox/chain.ts'
import { artifact, mountedOf } from '../../src/sandbox/deploy.ts'
import { startAnvil } from '../../src/sandbox/parts/anvil.ts'
import { createAccounts, type Wallet } from '../../src/sandbox/story/accounts.ts'
import { createActions, type NewEvent } from '../../src/sandbox/story/actions.ts'
import { factsOf } from '../support/known-chains.ts'
import { mintTo } from '../support/mint.ts'
import { ownerCalls } from '../support/owner-calls.ts'
import { DAY, NOW } from './clock.ts'

const BLOCK_SECONDS = 2
const REPLACE = 1

const accounts = createAccounts()
const [creator, lp, hedger, stranger] = accounts.users
if (!creator || !lp || !hedger || !stranger) throw new Error('the sandbox has four users')
const [oracle, secondOracle, thirdOracle] = accounts.oracles
if (!oracle || !secondOracle || !thirdOracle) throw new Error('the sandbox has three oracles')

/** Who acts in the examples. */
export const people = {
  owner: accounts.owner,
  engine: accounts.engine,
  creator,
  lp,
  hedger,
  stranger,
  oracle,
  secondOracle,
  thirdOracle,
}

/** Their addresses. */
export const addresses = Object.fromEntries(
  Object.entries(people).map(([name, { account }]) => [name, account.address]),
) as Readonly<Record<keyof typeof people, Address>>

/** Protection of cedi importers: strike 12.00, cap 13.50. */
const cedi = {
  name: 'Cedi importers Q3',
  underlying: 'USD/GHS',
  strike: 12_000_000n,
  payoutCap: 13_500_000n,
  premiumRate: 23_000n,
  allowExternalLp: true,
  initialRate: 11_400_000n,
  strikeAbove: true,
}

/** A node whose blocks depend on its transactions alone, with the protocol as the sandbox deploys it. */
export const startStoryChain = async (chainId: ChainId) => {
  const anvil = await startAnvil({ chainId, genesisTimestamp: NOW - 200 * DAY })
  const bare = createActions({ chainId, rpcUrl: anvil.url, diamond: zeroAddress, tokens: [] })
  await bare.node.setBlockTimestampInterval({ interval: BLOCK_SECONDS })
  // The chain's id as first nonce: both chains would have contracts at the same addresses otherwise.
  if (chainId !== 8453) await bare.node.setNonce({ address: people.owner.account.address, nonce: chainId })
  const chain = await deployOn(anvil.url, { chainId, ...factsOf(chainId) }, accounts)
  const actions = createActions(chain)
  const [usdc, usdt] = chain.tokens
  if (usdc === undefined) throw new Error('no token was deployed')
  const deployment: Deployment = {
    chainId,
    ...factsOf(chainId),
    diamond: chain.diamond,
    usdc: usdc.address,
    usdt: usdt?.address ?? null,
    publicRpcUrl: chainId === 56 ? 'https://bsc.example/rpc' : 'https://base.example/rpc',
    startBlock: BigInt(chain.deployBlock),
    profile: 'reference',
  }
  const { write } = ownerCalls({ actions, owner: people.owner, deployment })
  const units = (whole: number): bigint => BigInt(whole) * 10n ** BigInt(usdc.decimals)

  for (const { address } of chain.tokens) {
    for (const wallet of [creator, lp, hedger]) {
      await actions.mint(wallet, address, units(1_000_000))
      await actions.approve(wallet, address)
    }
  }
  return {
    ...{ anvil, actions, deployment, write, units },
    /** Creates the event from its creator's terms; the funds are whole tokens. */
    event: (terms: Partial<NewEvent> & Pick<NewEvent, 'name' | 'expiry'>, funds = 75_000) =>
      actions.createEvent(creator, { ...cedi, initialLiquidity: units(funds), paymentToken: usdc.address, ...terms }),
    /** The next transaction is in a block of this time, in Unix seconds. */
    at: (time: number) => actions.warp(time),
    close: anvil.close,
  }
}

export type StoryChain = Awaited<ReturnType<typeof startStoryChain>>

/** Creates a contract. */
const create = async ({ actions }: StoryChain, { account }: Wallet, name: string, args: readonly unknown[] = []) => {
  const data = encodeDeployData({ ...artifact(name), args })
  const nonce = await actions.client.getTransactionCount({ address: account.address })
  const serializedTransaction = await account.signTransaction({
    ...{ chainId: actions.chain.chainId, type: 'eip1559', data, nonce, gas: 5_000_000n },
    ...{ maxFeePerGas: 100_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n },
  })
  const { contractAddress } = await actions.client.sendRawTransactionSync({ serializedTransaction })
  if (!contractAddress) throw new Error(`${name} was not created`)
  return contractAddress
}

/** A replacement of the functions that list facets, which is queued. Returns its id and its parts. */
const proposeCut = async (chain: StoryChain): Promise<{ readonly id: Hex; readonly facetAddress: Address }> => {
  const facetAddress = await create(chain, people.owner, 'LoupeFacet')
  const functionSelectors = mountedOf('reference', 'LoupeFacet')
  await chain.write('diamondCut', [[{ facetAddress, action: REPLACE, functionSelectors }], zeroAddress, '0x'])
  const read = { address: chain.deployment.diamond, abi: protocolAbi, functionName: 'getPendingCutIds' } as const
  const id = (await chain.actions.client.readContract(read)).at(-1)
  if (id === undefined) throw new Error('no proposal is queued')
  return { id, facetAddress }
}

/**
 * Base. Event 1 settled in June, with a payout that was never claimed. Event 2 settled in the payout zone an hour ago,
 * with claimed and claimable payouts. Event 3 is open. Event 4 expired, and one oracle has submitted a rate. One upgrade
 * can be executed, a second one waits.
 */
export const tellBase = async (chain: StoryChain) => {
  const { actions, units, event, at } = chain
  await at(NOW - 190 * DAY)
  await event({ name: 'Cedi importers Q2', expiry: NOW - 121 * DAY })
  await actions.buy(hedger, 1n, units(5_000))
  await at(NOW - 121 * DAY + 600)
  await actions.settle(people.owner, 1n, 12_200_000n)

  await at(NOW - 90 * DAY)
  await event({ name: 'Cedi importers Q3', expiry: NOW - DAY })
  await actions.deposit(lp, 2n, units(25_000))
  await actions.buy(hedger, 2n, units(10_000))
  await actions.buy(hedger, 2n, units(4_000))
  await actions.buy(creator, 2n, units(2_000))
  await at(NOW - 30 * DAY)
  await event({ name: 'Cedi importers Q4', expiry: NOW + 60 * DAY })
  await actions.deposit(lp, 3n, units(5_000))
  await actions.buy(hedger, 3n, units(20_000))
  await event({ name: 'Cedi importers September', expiry: NOW - DAY }, 20_000)
  await actions.buy(hedger, 4n, units(1_000))

  await at(NOW - 4 * DAY)
  const { id: executable, facetAddress } = await proposeCut(chain)
  await at(NOW - DAY / 2)
  const { id: cancellable } = await proposeCut(chain)
  const stray = await create(chain, people.owner, 'TestToken', ['Stray token', 'STRAY', 18])
  await mintTo(chain.anvil.url, people.owner.account, stray, [chain.deployment.diamond], 10n ** 18n)
  await actions.node.setBalance({ address: chain.deployment.diamond, value: parseEther('0.1') })

  await at(NOW - 3_600)
  await actions.submitRate(oracle, 2n, 12_500_000n)
  await actions.submitRate(secondOracle, 2n, 12_500_000n)
  await actions.claimPayout(hedger, 3n)
  await actions.claimPayout(creator, 4n)
  await at(NOW - 600)
  await actions.submitRate(oracle, 4n, 11_900_000n)
  return { executable, cancellable, facetAddress, stray }
}

/** BNB Smart Chain: one open event. Then a new owner is named, and the protocol is paused. */
export const tellBnb = async ({ actions, units, event, at, write }: StoryChain) => {
  await at(NOW - 30 * DAY)
  await event({ name: 'Cedi importers, BNB', expiry: NOW + 60 * DAY })
  await actions.deposit(lp, 1n, units(3_000))
  await actions.buy(hedger, 1n, units(2_500))
  await at(NOW - 3_600)
  await write('transferOwnership', [people.stranger.account.address])
  await write('pause', [])
}
