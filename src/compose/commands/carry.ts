import { environments } from '../../config/environments.ts'
import { load } from '../../config/load.ts'
import { carry } from '../../db/carry/carry.ts'

/** Carries what no chain has from the previous to the rebuilt database, and prints how much. */
export const runCarry = async (): Promise<void> => {
  const { DATABASE_URL: rebuilt, PREVIOUS_DATABASE_URL: previous } = load(environments.carry)
  const carried = await carry({ rebuilt, previous }, (line) => process.stderr.write(`${line}\n`))
  if (carried === null) return void process.stdout.write('an earlier run has carried everything\n')
  const { keys, endpoints, deliveries, calibrations, settlements, events, news, reversals } = carried
  process.stdout.write(`carried over: ${keys} keys, ${endpoints} webhook endpoints, ${deliveries} deliveries, ${calibrations} calibrations, ${settlements} settlements
${events} events are observed again, because their settlement is another one; ${news} rows of activity are news, ${reversals} are reverted
`)
}
