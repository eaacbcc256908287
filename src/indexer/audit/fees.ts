import { toServiceError } from '../../chain/rpc/errors.ts'
import { readFees } from '../../db/index/fees.ts'
import { decodeLog, type FeeRates, feeLogsIn } from '../../protocol/abi/logs.ts'
import { call } from '../../protocol/abi/outputs.ts'
import type { AuditDeps } from './confirm.ts'

const textOf = ({ hedgerFeeRate, payoutFeeRate, lpProfitFeeRate, creatorLoyaltyRate }: FeeRates): string =>
  [hedgerFeeRate, payoutFeeRate, lpProfitFeeRate, creatorLoyaltyRate].join()

/**
 * Compares the stored fee rates with the chain: those of each block with the logs of that block if a node serves logs,
 * and the newest, once they are complete, with those of new events. A log that the index lacks between two stored ones is
 * not found. Throws as `Chain.readAt` and `Chain.logs` do.
 */
export const compareFees = async ({
  chain,
  database,
}: Pick<AuditDeps, 'chain' | 'database'>): Promise<{ readonly differences: readonly string[] }> => {
  const { anchor, rows } = await readFees(database, chain.chainId)
  const differences: string[] = []
  const numbers = chain.status().hasLogs ? [...new Set(rows.map(({ blockNumber }) => blockNumber))] : []
  for (const number of numbers) {
    const { logs } = await chain.logs({ from: number, upTo: number })
    const hints = logs.flatMap((log) => {
      const decoded = decodeLog(log)
      return decoded?.kind === 'hint' ? decoded : []
    })
    const describe = (all: readonly (FeeRates & { readonly logIndex: number; readonly txHash: string })[]): string =>
      all.map((it) => `${textOf(it)} by log ${it.logIndex} of ${it.txHash}`).join(' and ') || 'none'
    const stored = describe(rows.filter(({ blockNumber }) => blockNumber === number))
    const onChain = describe(feeLogsIn(hints))
    if (stored !== onChain)
      differences.push(`fee_rates of block ${number}: ${stored} in the index, ${onChain} on the chain`)
  }
  const newest = rows.at(-1)
  if (anchor === null || newest === undefined) return { differences }
  const [fees] = await chain.readAt(anchor, [call('getHedgeFeeConfig')])
  if (!fees.ok) throw toServiceError(fees.error)
  const onChain = textOf({ ...fees.value, payoutFeeRate: fees.value.hedgerPayoutFeeRate })
  if (textOf(newest) !== onChain)
    differences.push(`fee_rates: the newest are ${textOf(newest)} in the index, ${onChain} on the chain`)
  return { differences }
}
