import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { errorText, OperatorError } from '../../lib/errors.ts'
import { packaged } from '../../lib/root.ts'

const Rate = z.number().min(-0.1).max(3)

const Rates = z.strictObject({
  asOf: z.iso.date(),
  source: z.string().min(1),
  rates: z
    .record(z.string().regex(/^[A-Z]{3}$/, 'expected a currency code of three capital letters'), Rate)
    .and(z.object({ USD: Rate })),
})

/**
 * Risk-free rates by currency as annual fractions, on one date. The dollar's rate is the fallback while its bill rate
 * cannot be read.
 */
export type LocalRates = z.output<typeof Rates>

const shipped = packaged('src/pricing/market/local-rates.json')

/**
 * The rates of a JSON file `{asOf, source, rates: {USD: 0.044, EUR: 0.0325, …}}`; without a file, the bundled rates.
 * Throws an OperatorError when the file cannot be read or has another shape.
 */
export const readLocalRates = async (file: string | URL = shipped): Promise<LocalRates> => {
  try {
    return Rates.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch (cause) {
    const reason = cause instanceof z.ZodError ? z.prettifyError(cause) : errorText(cause)
    throw new OperatorError(`the local rates cannot be used: ${reason}`, { cause })
  }
}
