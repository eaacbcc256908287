import { readFileSync } from 'node:fs'
import {
  type Abi,
  type Address,
  createWalletClient,
  encodeDeployData,
  type Hex,
  http,
  type TransactionReceipt,
  toFunctionSelector,
} from 'viem'
import type { LocalAccount } from 'viem/accounts'
import { z } from 'zod'
import { protocolAbi } from '../abi/protocol.generated.ts'
import { packaged } from '../lib/root.ts'
import { contractFunction } from '../protocol/abi/contract-function.ts'
import type { ProfileName } from '../protocol/profiles.ts'

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

/**
 * Deploys test tokens and the protocol in one of its profiles, and configures fees, oracles, tolerance and the engine's
 * signer. The same account and nonce give the same addresses. Throws when a transaction reverts.
 */
export const deployProtocol = async (options: DeployOptions): Promise<Deployed> => {
  const { account, fees, profile } = options
  const { diamond: diamondName, facets: facetNames } = diamonds[profile]
  const wallet = createWalletClient({ account, transport: http(options.rpcUrl) })

  // One at a time: of transactions that arrive while another is mined, a node was seen to leave one out for good.
  const send = (data: Hex, to?: Address): Promise<TransactionReceipt> =>
    wallet.sendTransactionSync({
      chain: null,
      data,
      gas: 8_000_000n,
      throwOnReceiptRevert: true,
      ...(to === undefined ? {} : { to }),
    })
  const create = async (name: string, args: readonly unknown[] = []): Promise<{ at: Address; blockNumber: bigint }> => {
    const { contractAddress, blockNumber } = await send(encodeDeployData({ ...artifact(name), args }))
    if (!contractAddress) throw new Error(`${name} was not created`)
    return { at: contractAddress, blockNumber }
  }

  const tokens: Record<string, Address> = {}
  for (const { name, symbol, decimals } of options.paymentTokens)
    tokens[symbol] = (await create('TestToken', [name, symbol, decimals])).at
  const cuts: { facetAddress: Address; action: number; functionSelectors: Hex[] }[] = []
  for (const name of facetNames)
    cuts.push({ facetAddress: (await create(name)).at, action: 0, functionSelectors: mountedOf(profile, name) })
  const diamond = await create(diamondName, [account.address, cuts, Object.values(tokens)])

  const { creationFee, hedgerFeeRate, payoutFeeRate, lpProfitFeeRate, creatorLoyaltyRate } = fees
  const settings = [
    contractFunction(protocolAbi, 'initializeHedgeFees').encode([
      creationFee,
      hedgerFeeRate,
      payoutFeeRate,
      lpProfitFeeRate,
      creatorLoyaltyRate,
    ]),
    contractFunction(protocolAbi, 'setOracleAdmin').encode([options.oracleAdmin]),
    ...options.oracles.map((oracle) => contractFunction(protocolAbi, 'addOracle').encode([oracle])),
    ...(options.oracles.length < REQUIRED_SIGNERS
      ? []
      : [contractFunction(protocolAbi, 'setRequiredSigners').encode([REQUIRED_SIGNERS])]),
    contractFunction(protocolAbi, 'setToleranceBps').encode([TOLERANCE_BPS]),
    ...(options.pricingEngineSigner === undefined
      ? []
      : [contractFunction(protocolAbi, 'setPricingEngineSigner').encode([options.pricingEngineSigner])]),
  ]
  for (const data of settings) await send(data, diamond.at)

  return { diamond: diamond.at, tokens, deployBlock: diamond.blockNumber }
}
