import { z } from 'zod'

/** The fields of a decoded revert in an answer. */
export const reasonFields = {
  code: z.string().meta({ description: 'Stable: clients switch on it' }),
  reason: z.string().meta({ description: "The contract's or the node's text" }),
  hint: z.string().meta({ description: 'What to do about it' }),
}

/** Why a call fails. */
export const RevertReason = z.object(reasonFields)
