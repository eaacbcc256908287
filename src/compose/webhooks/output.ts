import type { Delivery } from '../../db/webhooks/deliveries.ts'
import type { Endpoint, Subscription } from '../../db/webhooks/endpoints.ts'
import { OperatorError } from '../../lib/errors.ts'

/** Lines without control characters, which the failure of a receiver may have. */
const textOf = (lines: readonly string[]): string => `${lines.join('\n').replace(/(?!\n)\p{Cc}/gu, ' ')}\n`

/** Prints lines. */
export const print = (...lines: readonly string[]): void => void process.stdout.write(textOf(lines))

/** Prints a new secret. Throws an OperatorError when the output is closed, so that the caller can undo the change. */
export const printSecret = (...lines: readonly string[]): Promise<void> =>
  new Promise((resolve, reject) => {
    process.stdout.write(`${lines.join('\n')}\n`, (fault) => {
      if (fault) reject(new OperatorError('the output is closed: the secret was not shown, and nothing was changed'))
      else resolve()
    })
  })

/** A number with its noun. */
export const counted = (many: number, noun: string): string => `${many} ${noun}${many === 1 ? '' : 's'}`

/** The line that a command adds for an endpoint that is not active. */
export const stopped = ({ id, state }: Endpoint): string[] =>
  state === 'active' ? [] : [`${id} is ${state}: deliveries stay stopped until webhooks resume ${id}`]

/** When a delivery ended, or is due. */
export const timeOf = ({ endedAt, nextAt }: Delivery): string =>
  endedAt === null ? `due ${nextAt.toISOString()}` : `ended ${endedAt.toISOString()}`

/** Values of a filter that are listed. */
const MOST_LISTED = 3

const listed = (noun: string, values: readonly (string | number)[] | null): string[] => {
  if (values === null) return []
  const rest = values.length - MOST_LISTED
  const first = values.slice(0, MOST_LISTED).join(', ')
  return [`${noun}${values.length === 1 ? '' : 's'} ${first}${rest > 0 ? ` and ${rest} more` : ''}`]
}

/** The filters of an endpoint: the first values of each. */
const filtersText = ({ chainIds, wallets, eventIds }: Subscription): string =>
  [...listed('chain', chainIds), ...listed('wallet', wallets), ...listed('event', eventIds)].join('; ') || 'everything'

type Described = Subscription & Pick<Endpoint, 'id' | 'apiKey' | 'state' | 'succeededAt' | 'failingSince' | 'failure'>

/** An endpoint in the list of all. */
export const describe = (it: Described): string => {
  const failing = it.failingSince ? `; fails since ${it.failingSince.toISOString()} (${it.failure})` : ''
  const owner = it.apiKey === null ? '' : `  (key ${it.apiKey})`
  return `${it.id}  ${it.state}  ${it.url}${owner}\n    ${it.types.join(' ')}; ${filtersText(it)}; last success ${it.succeededAt?.toISOString() ?? 'never'}${failing}`
}
