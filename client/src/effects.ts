import { isPassing } from './errors.ts'
import type { Requests } from './requests.ts'
import type { ListPath, Row, Schemas } from './types.ts'
import { createWatch, isHash } from './watch.ts'

/*
 * A hash that a wallet gives is a claim, and some wallets give none. So what a transaction did decides whether it is the
 * one that executed the steps of a plan.
 */

type Transaction = Schemas['Transaction']
type Plan = Schemas['Plan']
export type Step = Plan['steps'][number]

/** Where the entities that a function creates are listed, and which fields of a row are arguments of the call. */
type Creation = {
  readonly kind: keyof Transaction['created']
  readonly path: ListPath
  readonly owner: 'wallet' | 'creator'
  readonly fields: readonly string[]
}

const creations: Readonly<Record<string, Creation | undefined>> = {
  createEvent: {
    ...{ kind: 'eventIds', path: '/v1/hedge/events', owner: 'creator' },
    fields: ['name', 'strike', 'payoutCap', 'premiumRate', 'initialRate'],
  },
  deposit: { kind: 'depositIds', path: '/v1/hedge/deposits', owner: 'wallet', fields: ['eventId', 'amount'] },
  buyProtection: {
    ...{ kind: 'positionIds', path: '/v1/hedge/positions', owner: 'wallet' },
    fields: ['eventId', 'notional'],
  },
}

/** The newest rows that are searched. */
const LIMIT = 50

/** A service of an older version does not report unknown logs. */
const unknownIn = ({ unknownLogs = [] }: Transaction): Transaction['unknownLogs'] => unknownLogs

export type Effects = {
  /** Whether a transaction belongs to the wallet of the plan. */
  owns(transaction: Transaction): boolean
  /** Whether transactions that are mined did all that the steps do. `isConfirmed`: the wallet reports it. */
  covers(transactions: readonly Transaction[], isConfirmed: boolean): boolean
  /** Finds the transactions by what they created or logged. `seenBlock`: the newest block that is known to exist. */
  find(
    isConfirmed: boolean,
    signal: AbortSignal | undefined,
    seenBlock?: number,
  ): Promise<readonly Transaction[] | undefined>
}

/** Reads logs from the node of the wallet (`eth_getLogs`). What it returns is a claim too. */
export type ReadLogs = (filter: object) => Promise<unknown>

/** Most logs that are searched, and most transactions of them that are looked up. */
const MAX_LOGS = 10_000
const MAX_FOUND = 100

/** The effects of steps of a plan that are handed to a wallet after block `after`. */
export const effectsOf = (
  api: Requests,
  plan: Plan,
  { steps, after, readLogs }: { readonly steps: readonly Step[]; readonly after: number; readonly readLogs: ReadLogs },
): Effects => {
  const from = plan.from.toLowerCase()
  const isFrom = (value: unknown): boolean => String(value).toLowerCase() === from
  const calls = steps.map(({ transaction }) => transaction)
  const creating = calls.find(({ function: name }) => creations[name] !== undefined)
  const creation = creations[creating?.function ?? '']

  const isLate = ({ block }: Transaction): boolean => block !== null && block.number > plan.block.number

  /** Whether the log of a creation has the values of the call. Only the index, without nodes, returns no logs. */
  const agrees = (transaction: Transaction, { to, args }: Step['transaction']): boolean => {
    const logged = transaction.logs.filter(({ address }) => address.toLowerCase() === to.toLowerCase())
    if (logged.length === 0 || transaction.logsOmitted > 0) return true
    return logged.some(({ args: values }) => {
      const shared = Object.keys(values).filter((name) => args[name] !== undefined)
      const isEqual = (name: string): boolean => String(values[name]) === String(args[name])
      return Object.values(values).some(isFrom) && shared.length > 0 && shared.every(isEqual)
    })
  }

  /** Whether a transaction made a call, or has a log of the contract with all arguments of the call. */
  const makes = ({ calls: made, logs }: Transaction, { function: name, to, args }: Step['transaction']): boolean => {
    const has = (values: Step['transaction']['args']): boolean =>
      Object.entries(args).every(([key, value]) => String(values[key]) === String(value))
    const isMade = made?.some((call) => call.function === name && has(call.args)) ?? false
    return isMade || logs.some((log) => log.address.toLowerCase() === to.toLowerCase() && has(log.args))
  }

  const does = (transaction: Transaction): boolean => calls.some((call) => makes(transaction, call))

  /** Whether a log that the service does not know names the wallet, or may do so in a part that it omits. */
  const isNamedRaw = (transaction: Transaction): boolean =>
    transaction.unknownLogsOmitted > 0 ||
    unknownIn(transaction).some(
      ({ topics, data, dataOmitted }) =>
        dataOmitted > 0 || [...topics, data].some((hex) => hex.toLowerCase().includes(from.slice(2))),
    )

  /** Whether a log that is not shown may be of the wallet. */
  const mayHide = (transaction: Transaction): boolean =>
    transaction.logsIncomplete || transaction.logsOmitted > 0 || isNamedRaw(transaction)

  const owns = (transaction: Transaction): boolean =>
    isLate(transaction) &&
    (mayHide(transaction) ||
      Object.values(transaction.created).some((created) => created.some(({ owner }) => isFrom(owner))) ||
      transaction.logs.some(({ args }) => Object.values(args).some(isFrom)) ||
      does(transaction))

  /** Whether a transaction may have created the entity with a log that the service does not know. */
  const mayCreate = (transaction: Transaction): boolean =>
    unknownIn(transaction).length > 0 && owns(transaction) && (transaction.calls === null || does(transaction))

  /** `isConfirmed`: the wallet or the index reports that the transaction is that of the creation. */
  const creates = (transaction: Transaction, isConfirmed: boolean): boolean => {
    if (creating === undefined || creation === undefined || !isLate(transaction)) return false
    const isListed = transaction.created[creation.kind].some(({ owner }) => isFrom(owner))
    return isListed ? agrees(transaction, creating) : isConfirmed && mayCreate(transaction)
  }

  const lookUp = async (hash: string, signal: AbortSignal | undefined): Promise<Transaction | undefined> => {
    const { transaction, isDone } = await createWatch(api, plan.chainId, hash, from)(Date.now(), signal)
    return isDone ? transaction : undefined
  }

  const findCreated = async (
    { path, owner, fields }: Creation,
    args: Step['transaction']['args'],
    signal: AbortSignal | undefined,
    seenBlock: number,
  ): Promise<readonly Transaction[] | undefined> => {
    const call = { attempts: 1, ...(signal !== undefined && { signal }) }
    const params = {
      // An older list, as of a process that is behind, would lack the row.
      ...{ chainId: plan.chainId, [owner]: plan.from, limit: LIMIT, minBlock: Math.max(after, seenBlock) },
      ...(args.eventId !== undefined && { eventId: args.eventId }),
    }
    const { data } = await api.get<ListPath>(path, params as never, call)
    const rows = (data as Row<'/v1/hedge/positions'>[]).filter(
      (row) => row.createdBlock > after && fields.every((field) => String(Object(row)[field]) === String(args[field])),
    )
    // The rows are sorted from the newest to the oldest.
    for (const { createdTx } of rows.reverse()) {
      const transaction = createdTx === null ? undefined : await lookUp(createdTx, signal)
      if (transaction !== undefined && creates(transaction, true)) return [transaction]
    }
    return undefined
  }

  /** Whether a transaction did a call that creates nothing: what it called itself is known, and no other call counts. */
  const did = (transaction: Transaction, call: Step['transaction']): boolean =>
    isLate(transaction) && (makes(transaction, call) || (transaction.calls === null && mayHide(transaction)))

  /** Each call that creates nothing has a log of its contract that names the wallet, except that of pool settings. */
  const findLogged = async (
    isConfirmed: boolean,
    signal: AbortSignal | undefined,
  ): Promise<readonly Transaction[] | undefined> => {
    if (!isConfirmed) return undefined
    const address = [...new Set(calls.map(({ to }) => to))]
    const answer = await readLogs({ address, fromBlock: `0x${(after + 1).toString(16)}`, toBlock: 'latest' })
    const logs = (Array.isArray(answer) ? answer.slice(0, MAX_LOGS) : []).map(Object).filter(({ topics }) => {
      const named: readonly unknown[] = Array.isArray(topics) ? topics : []
      return named.some((topic) => String(topic).toLowerCase().endsWith(from.slice(2)))
    })
    const hashes = [...new Set(logs.map(({ transactionHash }): unknown => transactionHash))].filter(isHash)
    const found: Transaction[] = []
    for (const hash of hashes.slice(0, MAX_FOUND)) {
      const transaction = await lookUp(hash, signal)
      if (transaction !== undefined && calls.some((call) => did(transaction, call))) found.push(transaction)
    }
    return covers(found, isConfirmed) ? found : undefined
  }

  const covers = (transactions: readonly Transaction[], isConfirmed: boolean): boolean =>
    creation === undefined
      ? isConfirmed && calls.every((call) => transactions.some((transaction) => did(transaction, call)))
      : transactions.some((transaction) => creates(transaction, isConfirmed))

  const find = async (isConfirmed: boolean, signal: AbortSignal | undefined, seenBlock = 0) => {
    try {
      return creation === undefined || creating === undefined
        ? await findLogged(isConfirmed, signal)
        : await findCreated(creation, creating.args, signal, seenBlock)
    } catch (problem) {
      if (signal?.aborted || !isPassing(problem)) throw problem
      return undefined
    }
  }
  return { owns, covers, find }
}
