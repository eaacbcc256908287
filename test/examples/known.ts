import { zeroAddress } from 'viem'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { addresses, type StoryChain } from './chain.ts'

/** What exists on a chain of the story: addresses in lower case, hashes, and the newest id of each kind. */
export const knownOn = async ({ actions: { client }, deployment: { diamond } }: StoryChain) => {
  const accounts = new Set([...Object.values(addresses), zeroAddress].map((address) => address.toLowerCase()))
  const hashes = new Set<string>()
  const head = await client.getBlockNumber()
  for (let number = 0n; number <= head; number += 1n) {
    const block = await client.getBlock({ blockNumber: number })
    hashes.add(block.hash)
    for (const hash of block.transactions) {
      hashes.add(hash)
      const { contractAddress } = await client.getTransactionReceipt({ hash })
      if (contractAddress) accounts.add(contractAddress.toLowerCase())
    }
  }
  const read = { address: diamond, abi: protocolAbi } as const
  for (const id of await client.readContract({ ...read, functionName: 'getAllCutIds' })) hashes.add(id)
  const events = Number(await client.readContract({ ...read, functionName: 'getTotalHedgeEvents' }))
  const ofEvents = Array.from({ length: events }, (_, at) => BigInt(at + 1))
  const idsOf = async (functionName: 'getEventPositionIds' | 'getEventDepositIds'): Promise<Set<string>> => {
    const lists = await Promise.all(ofEvents.map((id) => client.readContract({ ...read, functionName, args: [id] })))
    return new Set(lists.flat().map(String))
  }
  return {
    ...{ accounts, hashes },
    ids: {
      eventId: new Set(ofEvents.map(String)),
      positionId: await idsOf('getEventPositionIds'),
      depositId: await idsOf('getEventDepositIds'),
    },
  }
}

export type Known = Awaited<ReturnType<typeof knownOn>>

/** Values that are no part of a chain: hashes of a quote and a plan, and the ids that a plan predicts. */
const elsewhere = ['digest', 'quoteNonce', 'effects']

const ADDRESS = /^0x[0-9a-fA-F]{40}$/
const HASH = /^0x[0-9a-f]{64}$/

const isKnown = ({ accounts, hashes, ids }: Known, key: string, value: unknown): boolean => {
  if (key in ids && value !== null) return ids[key as keyof typeof ids].has(String(value))
  if (typeof value !== 'string') return true
  if (ADDRESS.test(value)) return accounts.has(value.toLowerCase())
  return !HASH.test(value) || hashes.has(value)
}

/** The paths of values of an example that do not exist on their chain: the one that the nearest `chainId` names. */
export const unknownIn = (
  value: unknown,
  chains: ReadonlyMap<unknown, Known>,
  chainId: unknown,
  path: readonly string[],
): string[] => {
  const key = path.findLast((name) => !/^\d+$/.test(name)) ?? ''
  if (elsewhere.includes(key)) return []
  if (typeof value !== 'object' || value === null) {
    const known = chains.get(chainId)
    return known === undefined || isKnown(known, key, value) ? [] : [`${path.join('.')} = ${value} on ${chainId}`]
  }
  const { chainId: own } = value as { chainId?: unknown }
  const inner = typeof own === 'number' ? own : chainId
  return Object.entries(value).flatMap(([name, part]) => unknownIn(part, chains, inner, [...path, name]))
}
