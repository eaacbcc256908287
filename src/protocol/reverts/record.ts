import { z } from 'zod'

/** A row of the catalogue, as clients get it. */
export const RevertRecord = z
  .object({
    code: z.string().meta({ description: 'Never changes its meaning', example: 'past_deadline' }),
    reasons: z.array(z.string()).meta({
      description: 'Texts, custom errors and panics of contracts; deployments and tokens use different ones',
      example: ['Past deadline', 'Transaction deadline expired'],
    }),
    functions: z.array(z.string()).meta({
      description: 'The contract functions that can fail like this; empty when any can',
      example: ['buyProtection'],
    }),
    cause: z.string().meta({ example: 'The block is later than the deadline.' }),
    hint: z
      .string()
      .meta({ description: 'What the caller can do about it', example: 'Send a later `deadline`, in Unix seconds.' }),
  })
  .meta({ id: 'Revert' })
