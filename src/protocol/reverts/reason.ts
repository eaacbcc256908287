import { z } from 'zod'

/** The fields of a decoded revert in an answer. */
export const reasonFields = {
  code: z.string().meta({ description: 'Stable: clients switch on it', example: 'past_deadline' }),
  reason: z.string().meta({ description: "The contract's or the node's text", example: 'Past deadline' }),
  hint: z.string().meta({ description: 'What to do about it', example: 'Build the transaction again.' }),
}

/** Why a call fails. */
export const RevertReason = z.object(reasonFields)
