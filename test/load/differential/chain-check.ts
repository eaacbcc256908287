import { createPublicClient, type Hex, http, type PublicClient } from 'viem'
import { z } from 'zod'
import { protocolAbi as abi } from '../../../src/abi/protocol.generated.ts'
import type { LiveChain } from './live-chain.ts'

type Fields = Readonly<Record<string, unknown>>
type View =
  | 'getHedgeEventCore'
  | 'getHedgeEventStats'
  | 'getHedgeEventRange'
  | 'getHedgePosition'
  | 'getHedgeLpDeposit'
  | 'getPoolUtilization'

/**
 * The view of each record by its path, and the fields of both. Written independently, so that no mapper of the product
 * checks itself.
 */
const views: readonly { readonly path: RegExp; readonly view: View; readonly fields: readonly string[] }[] = [
  {
    path: /^\/v1\/hedge\/events\/\d+\/(\d+)$/,
    view: 'getHedgeEventCore',
    fields: ['id', 'creator', 'name', 'underlying', 'strike', 'premiumRate', 'expiryDate', 'status', 'poolOpen'],
  },
  {
    path: /\/events\/\d+\/(\d+)\/stats$/,
    view: 'getHedgeEventStats',
    fields: [
      'settlementPrice',
      'triggered',
      'settledAt',
      'creatorEarnings',
      'totalLiquidity',
      'totalExposure',
      'lpCount',
    ],
  },
  {
    path: /\/events\/\d+\/(\d+)\/range$/,
    view: 'getHedgeEventRange',
    fields: ['strike', 'payoutCap', 'initialRate', 'strikeAbove'],
  },
  {
    path: /\/events\/\d+\/(\d+)\/utilization$/,
    view: 'getPoolUtilization',
    fields: ['totalLiquidity', 'totalExposure'],
  },
  {
    path: /\/positions\/\d+\/(\d+)$/,
    view: 'getHedgePosition',
    fields: ['id', 'eventId', 'hedger', 'notional', 'premiumPaid', 'platformFeePaid', 'status', 'claimed'],
  },
  {
    path: /\/deposits\/\d+\/(\d+)$/,
    view: 'getHedgeLpDeposit',
    fields: ['id', 'eventId', 'lp', 'amount', 'shares', 'premiumsClaimed', 'withdrawn'],
  },
]

const Item = z.looseObject({ chainId: z.int(), id: z.int() })
const AsOf = z.object({ chainId: z.int(), blockNumber: z.int(), blockHash: z.string() })
const Body = z.object({ data: z.unknown(), meta: z.looseObject({ asOf: z.array(AsOf).optional() }).optional() })

/** A record of an answer with its block. */
type Claim = {
  readonly chainId: number
  readonly path: string
  readonly fields: Fields
  readonly block: bigint
  readonly hash: string
}

const listed = /^\/v1\/hedge\/(events|positions|deposits)\?/

/** A record to check: that of a single read, or one row of a list. */
export const claimOf = (
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  pick: <T>(of: readonly T[]) => T,
): Claim | null => {
  const { data, meta } = Body.parse(JSON.parse(body))
  const [, kind] = listed.exec(path) ?? []
  if (kind !== undefined) {
    const rows = z.array(Item).parse(data)
    if (rows.length === 0) return null
    const row = pick(rows)
    const at = meta?.asOf?.find(({ chainId }) => chainId === row.chainId)
    const own = `/v1/hedge/${kind}/${row.chainId}/${row.id}`
    return at === undefined
      ? null
      : { chainId: row.chainId, path: own, fields: row, block: BigInt(at.blockNumber), hash: at.blockHash }
  }
  const { 'x-block-number': block, 'x-block-hash': hash } = headers
  const chainId = Number(/\/(8453|56)\//.exec(path)?.[1])
  if (block === undefined || hash === undefined || !views.some((it) => it.path.test(path))) return null
  return { chainId, path, fields: z.record(z.string(), z.unknown()).parse(data), block: BigInt(block), hash }
}

/**
 * Compares records with calls at the same block. Returns the differences, or null if the block is no longer on the
 * chain.
 */
export const createChainCheck = (chains: readonly LiveChain[]) => {
  const clients = new Map<number, { readonly client: PublicClient; readonly address: Hex }>(
    chains.map(({ chain, url }) => [
      chain.chainId,
      { client: createPublicClient({ transport: http(url, { retryCount: 0 }), cacheTime: 0 }), address: chain.diamond },
    ]),
  )
  return async ({ chainId, path, fields, block, hash }: Claim): Promise<readonly string[] | null> => {
    const known = clients.get(chainId)
    const found = views.find((it) => it.path.test(path))
    if (known === undefined || found === undefined) throw new Error(`nothing checks ${path}`)
    const id = BigInt(found.path.exec(path)?.[1] ?? '')
    const { client, address } = known
    const hashNow = async (): Promise<string | undefined> =>
      (await client.getBlock({ blockNumber: block }).catch(() => undefined))?.hash
    if ((await hashNow()) !== hash) return null
    const call = { address, abi, functionName: found.view, args: [id], blockNumber: block } as const
    const values: unknown = await client.readContract(call)
    if ((await hashNow()) !== hash) return null
    const entry = abi.find((it) => it.type === 'function' && it.name === found.view)
    const outputs = entry?.type === 'function' ? entry.outputs : []
    const onChain = new Map<string | undefined, unknown>(
      z
        .array(z.unknown())
        .parse(values)
        .map((value, at) => [outputs[at]?.name, value]),
    )
    return found.fields.flatMap((name) =>
      String(onChain.get(name)) === String(fields[name])
        ? []
        : [`${found.view}(${id}).${name} is ${onChain.get(name)} at block ${block}, and ${fields[name]} in ${path}`],
    )
  }
}
