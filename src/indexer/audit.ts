import type { Chain } from '../chain/chain.ts'
import type { Database } from '../db/pool.ts'
import { type Kind, kinds } from '../db/progress.ts'
import type { StoredBlock } from '../db/query.ts'
import type { Meter } from '../lib/meter.ts'
import type { ChainId } from '../protocol/chains.ts'
import { compareKind, type KindMark } from './audit-kind.ts'
import { compareWallets, type WalletMark } from './audit-lists.ts'
import { openPin, type Pin } from './audit-pin.ts'

type Count = { readonly what: string; readonly index: number; readonly chain: number }

/** What an audit found: rows on both sides by kind, and each difference in words. */
export type AuditReport = {
  readonly chainId: ChainId
  /** The last block that was compared at; slices before may have been compared at older ones. */
  readonly block: StoredBlock
  readonly counts: readonly Count[]
  /** The first differences, and how many there are. */
  readonly differences: readonly string[]
  readonly found: number
}

type Deps = { readonly chain: Chain; readonly database: Database; readonly meter?: Meter }

/** Wallets whose lists are compared at once. */
const WALLETS = 200

/**
 * Compares every fact of a chain's index (ids, owners, amounts, the lists of events and wallets) with the chain, slice by slice, at the
 * block that the index has reached. Throws `service_unavailable` when nothing is indexed or node or database is out of reach.
 */
export const audit = async (deps: Deps): Promise<AuditReport> => {
  const { chainId } = deps.chain
  const pin = await openPin(deps)
  const counts: Count[] = []
  for (const kind of kinds) counts.push(await auditKind(deps, pin, kind))
  counts.push(await auditWallets(deps, pin))
  return { chainId, counts, ...pin.result() }
}

const auditKind = async (deps: Deps, pin: Pin, kind: Kind): Promise<Count> => {
  const what = `${kind}s`
  let index = 0
  let chain = 0
  for (let mark: KindMark | null = { kind, from: 0n, met: 0 }; mark !== null; ) {
    const from: KindMark = mark
    const { inIndex, onChain, last, next } = await pin.compare((at) => compareKind(deps, at, from))
    index += inIndex
    chain += onChain
    mark = next
    deps.meter?.show(what, chain, Number(last))
  }
  return { what, index, chain }
}

const auditWallets = async (deps: Deps, pin: Pin): Promise<Count> => {
  const what = 'wallet lists'
  let done = 0
  for (let mark: WalletMark | null = { kind: 'event', after: null }; mark !== null; ) {
    const from: WalletMark = mark
    const { lists, next } = await pin.compare((at) => compareWallets(deps, at, from, WALLETS))
    done += lists
    mark = next
    deps.meter?.show(what, done, null)
  }
  return { what, index: done, chain: done }
}

/** Differences printed; the count is of all. */
const PRINTED = 20

/** The report as lines for a terminal. */
export const formatAudit = ({ chainId, block, counts, differences, found }: AuditReport): string =>
  [
    `chain ${chainId} at block ${block.number} (${block.hash})`,
    `  ${'what'.padEnd(14)}${'index'.padStart(8)}${'chain'.padStart(8)}`,
    ...counts.map(
      ({ what, index, chain }) => `  ${what.padEnd(14)}${String(index).padStart(8)}${String(chain).padStart(8)}`,
    ),
    `  ${found === 0 ? 'no differences' : `${found} differences`}`,
    ...differences.slice(0, PRINTED).map((difference) => `    ${difference}`),
  ].join('\n')
