import { readFileSync } from 'node:fs'
import {
  type Abi,
  type Address,
  createPublicClient,
  createTestClient,
  createWalletClient,
  custom,
  encodeDeployData,
  encodeFunctionData,
  type Hex,
  http,
  type PublicClient,
  type TransactionReceipt,
  toFunctionSelector,
} from 'viem'
import type { LocalAccount } from 'viem/accounts'
import { z } from 'zod'
import { protocolAbi } from '../abi/protocol.generated.ts'
import { packaged } from '../lib/root.ts'
import type { ProfileName } from '../protocol/profiles.ts'
import { receiptOf } from './receipt.ts'

/**
 * The diamond of each profile, its facets, and the functions of the facets that it does not mount.
 *
 * @internal
 */
export const diamonds: Readonly<
  Record<
    ProfileName,
    { readonly diamond: string; readonly facets: readonly string[]; readonly unmounted: readonly string[] }
  >
> = {
  reference: {
    diamond: 'Diamond',
    facets: [
      'EventFacet',
      'PoolFacet',
      'ProtectionFacet',
      'AdminFacet',
      'ViewFacet',
      'OracleFacet',
      'OwnershipFacet',
      'TimelockFacet',
      'LoupeFacet',
    ],
    unmounted: [],
  },
  deployed: {
    diamond: 'DeployedDiamond',
    facets: [
      'DeployedEventFacet',
      'DeployedPoolFacet',
      'DeployedProtectionFacet',
      'AdminFacet',
      'DeployedViewFacet',
      'DeployedOracleFacet',
      'OwnershipFacet',
      'DeployedCutFacet',
      'LoupeFacet',
    ],
    unmounted: ['owner'],
  },
}

type TokenSpec = { readonly symbol: string; readonly name: string; readonly decimals: number }

export type DeployOptions = {
  readonly rpcUrl: string
  readonly profile: ProfileName
  /** Becomes the owner and first oracle admin. */
  readonly account: LocalAccount
  /** Deployed as test tokens; the first is the protocol's default token. */
  readonly paymentTokens: readonly TokenSpec[]
  readonly oracles: readonly Address[]
  readonly oracleAdmin: Address
  /** The signer whose quotes the protocol accepts; without it the protocol accepts no signed quotes. */
  readonly pricingEngineSigner?: Address
  /** `creationFee` in token units; the rates 1e6. */
  readonly fees: {
    readonly creationFee: bigint
    readonly hedgerFeeRate: bigint
    readonly payoutFeeRate: bigint
    readonly lpProfitFeeRate: bigint
    readonly creatorLoyaltyRate: bigint
  }
}

export type Deployed = {
  readonly diamond: Address
  readonly tokens: Readonly<Record<string, Address>>
  /** The block in which the diamond was created. */
  readonly deployBlock: bigint
}

const Artifact = z.object({
  abi: z.custom<Abi>((value) => Array.isArray(value)),
  bytecode: z.custom<Hex>((value) => typeof value === 'string' && value.startsWith('0x')),
})

/**
 * The artifact of a contract in `contracts/`. Throws when it does not exist.
 *
 * @internal
 */
export const artifact = (name: string): z.output<typeof Artifact> =>
  Artifact.parse(JSON.parse(readFileSync(packaged(`contracts/artifacts/${name}.json`), 'utf8')))

/**
 * The functions of one facet that a profile's diamond mounts.
 *
 * @internal
 */
export const mountedOf = (profile: ProfileName, facet: string): Hex[] =>
  artifact(facet).abi.flatMap((item) =>
    item.type === 'function' && !diamonds[profile].unmounted.includes(item.name) ? [toFunctionSelector(item)] : [],
  )

/** Required signers and tolerance of the specification's example configuration. */
const REQUIRED_SIGNERS = 2n
const TOLERANCE_BPS = 700n

/** Longest that a transaction waits in the node's pool, in milliseconds. */
const MINED_WITHIN_MS = 5_000

/**
 * The receipt of a transaction. Throws when it reverted. A transaction of a deployment was seen to stay in the pool of
 * anvil until the next block; the cause is not known. So a block is requested when the receipt is late.
 *
 * @internal
 */
export const mined = async (node: PublicClient, hash: Hex): Promise<TransactionReceipt> => {
  const late = setInterval(() => {
    createTestClient({ mode: 'anvil', transport: custom(node) })
      .mine({ blocks: 1 })
      .catch(() => {})
  }, MINED_WITHIN_MS)
  try {
    const receipt = await receiptOf(node, hash)
    if (receipt.status !== 'success') throw new Error(`transaction ${hash} reverted`)
    return receipt
  } finally {
    clearInterval(late)
  }
}

/**
 * Deploys test tokens and the protocol in one of its profiles, and configures fees, oracles, tolerance and the engine's
 * signer. The same account and nonce give the same addresses. Throws when a transaction reverts.
 */
export const deployProtocol = async (options: DeployOptions): Promise<Deployed> => {
  const { account, fees, profile } = options
  const { diamond: diamondName, facets: facetNames } = diamonds[profile]
  const transport = http(options.rpcUrl)
  const wallet = createWalletClient({ account, transport })
  const node = createPublicClient({ transport })
  let nonce = await node.getTransactionCount({ address: account.address })

  const send = (data: Hex, to?: Address): Promise<Hex> =>
    wallet.sendTransaction({ chain: null, data, nonce: nonce++, gas: 8_000_000n, ...(to === undefined ? {} : { to }) })
  const contractOf = async (hash: Hex): Promise<Address> => {
    const { contractAddress } = await mined(node, hash)
    if (!contractAddress) throw new Error(`${hash} created no contract`)
    return contractAddress
  }
  const create = (name: string, args: readonly unknown[]): Promise<Hex> =>
    send(encodeDeployData({ ...artifact(name), args }))

  // The nonces are assigned in this order, so the requests may be sent concurrently.
  const tokenHashes = options.paymentTokens.map(({ name, symbol, decimals }) =>
    create('TestToken', [name, symbol, decimals]),
  )
  const facetHashes = facetNames.map((name) => create(name, []))
  const tokens = await Promise.all(tokenHashes.map(async (hash) => contractOf(await hash)))
  const facets = await Promise.all(facetHashes.map(async (hash) => contractOf(await hash)))

  const cuts = facetNames.map((name, at) => ({
    facetAddress: facets[at],
    action: 0,
    functionSelectors: mountedOf(profile, name),
  }))
  const created = await mined(node, await create(diamondName, [account.address, cuts, tokens]))
  const diamond = created.contractAddress
  if (!diamond) throw new Error('the diamond was not created')

  const { creationFee, hedgerFeeRate, payoutFeeRate, lpProfitFeeRate, creatorLoyaltyRate } = fees
  const settings = [
    encodeFunctionData({
      abi: protocolAbi,
      functionName: 'initializeHedgeFees',
      args: [creationFee, hedgerFeeRate, payoutFeeRate, lpProfitFeeRate, creatorLoyaltyRate],
    }),
    encodeFunctionData({ abi: protocolAbi, functionName: 'setOracleAdmin', args: [options.oracleAdmin] }),
    ...options.oracles.map((oracle) =>
      encodeFunctionData({ abi: protocolAbi, functionName: 'addOracle', args: [oracle] }),
    ),
    ...(options.oracles.length < REQUIRED_SIGNERS
      ? []
      : [encodeFunctionData({ abi: protocolAbi, functionName: 'setRequiredSigners', args: [REQUIRED_SIGNERS] })]),
    encodeFunctionData({ abi: protocolAbi, functionName: 'setToleranceBps', args: [TOLERANCE_BPS] }),
    ...(options.pricingEngineSigner === undefined
      ? []
      : [
          encodeFunctionData({
            abi: protocolAbi,
            functionName: 'setPricingEngineSigner',
            args: [options.pricingEngineSigner],
          }),
        ]),
  ]
  const sent = await Promise.all(settings.map((data) => send(data, diamond)))
  await Promise.all(sent.map((hash) => mined(node, hash)))

  return {
    diamond,
    tokens: Object.fromEntries(tokens.map((token, at) => [options.paymentTokens[at]?.symbol, token])),
    deployBlock: created.blockNumber,
  }
}
