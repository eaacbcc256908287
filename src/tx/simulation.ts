import { z } from 'zod'
import { clamped, Integer } from '../protocol/fields/response-fields.ts'
import { revertOf } from '../protocol/reverts/decode.ts'

/** What a call would do at the newest block. */
export const Simulation = z
  .object({
    status: z.enum(['success', 'reverted', 'unavailable']).meta({
      description: '`unavailable` when no node answered in time: the call may succeed or revert',
    }),
    code: z
      .string()
      .regex(/^[a-z_]+$/)
      .nullable()
      .meta({ description: 'A code of `/v1/reverts`' }),
    reason: z.string().nullable().meta({ description: "The contract's text or error, or the node's text" }),
    hint: z.string().nullable().meta({
      description: 'What the caller can do about it',
    }),
    blockNumber: Integer.nullable().meta({
      description: 'The newest block when the simulation was requested',
    }),
  })
  .meta({
    description: 'What the call would do at the newest block. `code`, `reason` and `hint` are null unless it reverts.',
  })

export type Simulation = z.output<typeof Simulation>

const NOTHING = { code: null, reason: null, hint: null }

/** What a simulated call did; `error` is of the node or has the bytes that the call returned. */
type Simulated =
  | { readonly status: 'success'; readonly blockNumber: bigint | null }
  | { readonly status: 'reverted'; readonly error: Parameters<typeof revertOf>[0]; readonly blockNumber: bigint | null }
  | { readonly status: 'unavailable' }

/** The record of a simulated call of one contract function. */
export const simulationRecord = (simulated: Simulated, functionName: string): Simulation => {
  const { status } = simulated
  if (status === 'unavailable') return { status, ...NOTHING, blockNumber: null }
  const at = simulated.blockNumber
  const { code, reason, hint } = status === 'reverted' ? revertOf(simulated.error, functionName) : NOTHING
  return { status, code, reason, hint, blockNumber: at === null ? null : clamped(at) }
}
