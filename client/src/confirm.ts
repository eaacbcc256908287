import { optionError } from './errors.ts'
import { checkMs } from './numbers.ts'
import type { Requests } from './requests.ts'
import { settle, type Waiting } from './settle.ts'
import type { Schemas } from './types.ts'
import { isHash } from './watch.ts'

/** Waits until a transaction is mined and indexed. Throws ExecutionError when it reverts or is dropped, or in the end. */
export const waitForTransaction = async (
  api: Requests,
  chainId: number,
  hash: string,
  waiting: Waiting = {},
): Promise<Schemas['Transaction']> => {
  checkMs('confirmationMs', waiting.confirmationMs)
  if (!isHash(hash)) throw optionError(`hash: expected 0x and 64 hexadecimal digits, not ${String(hash).slice(0, 80)}`)
  const [transaction] = await settle(api, { chainId, hashes: [hash] }, waiting)
  if (transaction === undefined) throw new TypeError('a wait for a transaction returns it')
  return transaction
}
