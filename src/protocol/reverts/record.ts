import { z } from 'zod'

/** A row of the catalogue, as clients get it. */
export const RevertRecord = z
  .object({
    code: z.string().meta({ description: 'Never changes its meaning' }),
    reasons: z.array(z.string()).meta({
      description: 'Texts, custom errors and panics of contracts; deployments and tokens use different ones',
    }),
    functions: z.array(z.string()).meta({
      description: 'The contract functions that can fail like this; empty when any can',
    }),
    cause: z.string(),
    hint: z.string().meta({ description: 'What the caller can do about it' }),
  })
  .meta({ id: 'Revert' })
