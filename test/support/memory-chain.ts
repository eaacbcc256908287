import type { Plan, Transaction } from 'fx-protection-client'
import { type Address, type Hex, hexToNumber, numberToHex, pad, sliceHex } from 'viem'
import { walletFault } from './wallet-provider.ts'

/*
 * A chain, its node and the API in front of them, in the memory of a test. Transactions are mined and indexed at once.
 * Only what `execute` of the client reads is there.
 */

export const CHAIN = 8453
export const FROM: Address = '0x00000000000000000000000000000000000000f1'
export const TOKEN: Address = '0x00000000000000000000000000000000000000a1'
export const DIAMOND: Address = '0x00000000000000000000000000000000000000d1'

type Step = Plan['steps'][number]
type BuiltTx = Step['transaction']
type Sent = { readonly from: Address; readonly to: Address; readonly data: Hex }
type Log = { readonly address: Address; readonly topics: readonly Hex[]; readonly transactionHash: Hex }

export const hashOf = (number: number): Hex => numberToHex(number, { size: 32 })

/** A transaction as the API reports it, of which no node knows anything unless the fields say so. */
export const transactionOf = (hash: string, fields: Partial<Transaction> = {}): Transaction => ({
  ...{ chainId: CHAIN, hash: hash as Hex, status: 'unknown', block: null, confirmations: 0, finality: null, fee: null },
  ...{ calls: null, created: { eventIds: [], depositIds: [], positionIds: [] }, logs: [], logsOmitted: 0 },
  ...{
    createdIncomplete: false,
    logsIncomplete: false,
    unknownLogs: [],
    unknownLogsOmitted: 0,
    userOperations: [],
    revert: null,
    revertStatus: 'none',
    indexed: false,
    dropped: false,
    replacedBy: null,
  },
  ...fields,
})

/** A block with this number. */
export const blockAt = (number: number): NonNullable<Transaction['block']> => ({
  number,
  hash: hashOf(number),
  timestamp: 1_800_000_000 + number,
})

/** The JSON text of a response: amounts are decimal strings. */
export const jsonOf = (body: unknown): string =>
  JSON.stringify(body, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))

/** The calls of calldata that `batchOf` made. */
const callsIn = (data: Hex): Hex[] => {
  const calls: Hex[] = []
  for (let at = 0; at * 2 + 2 < data.length; ) {
    const length = hexToNumber(sliceHex(data, at + 32, at + 64))
    calls.push(sliceHex(data, at + 64, at + 64 + length))
    at += 64 + length
  }
  return calls
}

export const createMemoryChain = () => {
  const steps = new Map<Hex, BuiltTx>()
  const transactions = new Map<string, Transaction>()
  const positions: object[] = []
  const logs: Log[] = []
  const requested: string[] = []
  const chain = { height: 100, chainId: CHAIN }

  const stepOf = (id: string, to: Address, name: string, args: BuiltTx['args']): Step => {
    const data = numberToHex(steps.size + 1, { size: 36 })
    const transaction = { ...{ chainId: CHAIN, to, data, value: 0n, function: name, args }, estimatedGas: null }
    steps.set(data, { ...transaction, simulation: null })
    return { id, transaction: { ...transaction, simulation: null }, simulation: null, payout: null }
  }

  const planOf = (...list: readonly Step[]): Plan => ({
    ...{ action: 'buyProtection', chainId: CHAIN, from: FROM, block: blockAt(chain.height), method: 'eth_call' },
    ...{ summary: 'a plan', executable: true, issues: [], cost: null, payout: null, steps: [...list] },
    walletCalls: {
      ...{ version: '2.0.0', chainId: numberToHex(CHAIN), from: FROM, atomicRequired: false },
      calls: list.map(({ transaction: { to, data } }) => ({ to, data, value: '0x0' })),
    },
    ...{ effects: { created: { predicted: true }, balanceChanges: [] }, tokens: [], gasCost: null, remaining: 0 },
    ...{ validUntil: { blockNumber: chain.height + 1, timestamp: null }, digest: `0x${'d1'.repeat(14)}` },
  })

  /** Mines a transaction that makes these calls. */
  const mine = (from: Address, made: readonly BuiltTx[]): Hex => {
    chain.height += 1
    const hash = hashOf(0xabcdef_0000 + chain.height)
    const created = transactionOf(hash).created
    const emitted = made.map(({ to, function: name, args }): Transaction['logs'][number] => {
      if (name !== 'buyProtection') return { address: to, name, args: { ...args, owner: from } }
      const id = positions.length + 1
      created.positionIds.push({ id, owner: from })
      const row = { eventId: args.eventId, notional: args.notional, hedger: from, createdTx: hash }
      positions.unshift({ id, ...row, createdBlock: chain.height })
      const { eventId = null, notional = null } = args
      return { address: to, name, args: { positionId: id, hedger: from, eventId, notional } }
    })
    for (const { address } of emitted) logs.push({ address, topics: [hashOf(1), pad(from)], transactionHash: hash })
    const block = blockAt(chain.height)
    transactions.set(hash, transactionOf(hash, { status: 'succeeded', block, indexed: true, created, logs: emitted }))
    return hash
  }

  const send = ({ from, to, data }: Sent): Hex => {
    const list = to === from ? callsIn(data) : [data]
    const made = list.flatMap((each) => steps.get(each) ?? [])
    if (made.length !== list.length) throw walletFault(3, 'execution reverted')
    return mine(from, made)
  }

  const node = async (method: string, params: readonly unknown[] = []): Promise<unknown> => {
    if (method === 'eth_chainId') return numberToHex(chain.chainId)
    if (method === 'eth_getBlockByNumber') {
      const { number, timestamp } = blockAt(chain.height)
      return { number: numberToHex(number), timestamp: numberToHex(timestamp) }
    }
    if (method === 'eth_sendTransaction') return send(params[0] as Sent)
    if (method === 'eth_getTransactionReceipt')
      return transactions.has(String(params[0])) ? { transactionHash: params[0] } : null
    if (method === 'eth_getLogs') {
      const { address, fromBlock } = Object(params[0])
      const isIn = (log: Log): boolean =>
        address.includes(log.address) &&
        (transactions.get(log.transactionHash)?.block?.number ?? 0) >= Number(fromBlock)
      return logs.filter(isIn)
    }
    throw walletFault(-32_601, `the method ${method} does not exist`)
  }

  /** What the API answers about a transaction; a test may replace it. */
  let report = (hash: string): Transaction => transactions.get(hash) ?? transactionOf(hash)

  const api = async (url: string | URL | Request): Promise<Response> => {
    const { pathname, search, searchParams } = new URL(String(url))
    requested.push(`${pathname}${search}`)
    const [, hash] = /^\/v1\/transactions\/8453\/(0x[0-9a-f]+)$/.exec(pathname) ?? []
    if (hash !== undefined) return new Response(jsonOf({ data: report(hash), meta: {} }))
    if (pathname !== '/v1/hedge/positions') throw new Error(`no answer to ${pathname}`)
    const isAsked = (row: object): boolean =>
      Object(row).hedger === searchParams.get('wallet') && String(Object(row).eventId) === searchParams.get('eventId')
    return new Response(jsonOf({ data: positions.filter(isAsked), meta: { nextCursor: null } }))
  }

  return {
    ...{ chain, node, api, requested, transactions, logs, mine, planOf, stepOf },
    /** Positions, the newest first. */
    positions,
    /** Replaces what the API answers about transactions. `own` is its own answer. */
    onReport(replace: (own: Transaction) => Transaction): void {
      report = (hash) => replace(transactions.get(hash) ?? transactionOf(hash))
    },
    /** A plan with an approval and a purchase of so much notional. */
    purchase: (notional: bigint, eventId = 1): Plan =>
      planOf(
        stepOf('approve', TOKEN, 'approve', { spender: DIAMOND, value: String(notional) }),
        stepOf('buy-protection', DIAMOND, 'buyProtection', { eventId, notional: String(notional), maxCost: '7' }),
      ),
    /** A plan with so many claims. */
    claims: (count: number): Plan =>
      planOf(
        ...Array.from({ length: count }, (_, at) =>
          stepOf(`claim-${at}`, DIAMOND, 'claimPayout', { positionId: at + 1 }),
        ),
      ),
  }
}
