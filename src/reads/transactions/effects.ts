import type { Receipt } from '../../chain/rpc/transactions.ts'
import { effectsOf } from '../../protocol/abi/receipt-logs.ts'
import type { Deployment } from '../../protocol/chains.ts'
import { decimal } from '../../protocol/fields/response-fields.ts'
import { revertOf } from '../../protocol/reverts/decode.ts'
import type { TransactionRecord } from './record.ts'

/** What the sender of a transaction paid. */
export const feeOf = ({ gasUsed, effectiveGasPrice, l1Fee, operatorFee }: Receipt): TransactionRecord['fee'] =>
  effectiveGasPrice === null
    ? null
    : {
        gasUsed: decimal(gasUsed),
        effectiveGasPrice: decimal(effectiveGasPrice),
        dataFee: l1Fee === null ? null : decimal(l1Fee),
        operatorFee: operatorFee === null ? null : decimal(operatorFee),
        total: decimal(gasUsed * effectiveGasPrice + (l1Fee ?? 0n) + (operatorFee ?? 0n)),
      }

const REVERTED = 'execution reverted'

/** What a transaction did, by its receipt. */
export const effects = ({ logs }: Receipt, deployment: Deployment) => {
  const { created, failedOperations, ...others } = effectsOf(logs, deployment)
  return {
    ...others,
    logs: [...others.logs],
    unknownLogs: others.unknownLogs.map((log) => ({ ...log, topics: [...log.topics] })),
    created: { eventIds: [...created.event], depositIds: [...created.deposit], positionIds: [...created.position] },
    userOperations: failedOperations.map(({ nonce, revert, ...operation }) => ({
      ...operation,
      nonce: decimal(nonce),
      success: false as const,
      revert: revert === null ? null : revertOf({ data: revert, message: REVERTED }),
    })),
  }
}
