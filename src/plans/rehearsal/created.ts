import type { Address, Hex } from 'viem'
import type { SequenceCall } from '../../chain/rpc/simulation.ts'
import { type Call, call } from '../../protocol/abi/outputs.ts'
import { type Rehearsal, wordOf } from '../steps/rehearse.ts'
import type { Step } from '../steps/step.ts'

/* What the last step creates, by calls after it. */

const positionOf = (id: bigint) => call('getHedgePosition', [id])
const depositsOf = (eventId: bigint) => call('getEventDepositIds', [eventId])

/** What is read after a step has created the entity with this id: a position's record, an event's deposits. */
export const createdReads = (step: Step | undefined, id: bigint | null, diamond: Address): SequenceCall[] => {
  const creates = step?.action?.creates
  if (id === null || creates == null || creates === 'depositId') return []
  const { data } = creates === 'positionId' ? positionOf(id) : depositsOf(id)
  return [{ to: diamond, data }]
}

/** Decodes what a view returned after the steps; null when it was not read or reverted. */
const readAfter = <T>(rehearsal: Rehearsal, view: Call<T>): T | null => {
  const [result] = rehearsal?.after ?? []
  return result?.ok === true && result.data !== '0x' ? view.decode(result.data as Hex) : null
}

/** The ids that the last step creates; an event with a seed also creates a deposit. */
export const createdBy = (step: Step | undefined, rehearsal: Rehearsal) => {
  const creates = step?.action?.creates
  const id = wordOf(rehearsal?.steps.at(-1))
  if (creates == null || id === null) return {}
  const [seed] = creates === 'eventId' ? (readAfter(rehearsal, depositsOf(id)) ?? []) : []
  return { [creates]: Number(id), ...(seed !== undefined && { depositId: Number(seed) }) }
}

/** The premium of the position that a purchase creates; null when the last step is none or was not simulated. */
export const premiumPaid = (step: Step | undefined, rehearsal: Rehearsal): bigint | null => {
  const isBought = step?.action?.creates === 'positionId' && rehearsal?.steps.at(-1)?.ok === true
  return isBought ? (readAfter(rehearsal, positionOf(0n))?.premiumPaid ?? null) : null
}
