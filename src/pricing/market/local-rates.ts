import { readFile } from 'node:fs/promises'
import { z } from 'zod'

const Rate = z.number().min(-0.1).max(3)

const Rates = z.strictObject({
  asOf: z.iso.date(),
  source: z.string().min(1),
  rates: z.object({ USD: Rate }).catchall(Rate),
})

/** Risk-free rates by currency as annual fractions, on one date. The dollar's is what is used while its bill rate cannot be had. */
export type LocalRates = z.output<typeof Rates>

const shipped = new URL('local-rates.json', import.meta.url)

/** The rates of a JSON file `{asOf, source, rates: {EUR: 0.0325, …}}`; without one, those that come with the service. Throws when it is none. */
export const readLocalRates = async (file: string | URL = shipped): Promise<LocalRates> =>
  Rates.parse(JSON.parse(await readFile(file, 'utf8')))
