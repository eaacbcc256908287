import type { FastifyPluginAsync } from 'fastify'
import { actions } from '../../plans/actions.ts'
import { type Intent, intents } from '../../plans/intents.ts'
import type { Planner } from '../../plans/planner.ts'
import { Plan } from '../../plans/records.ts'
import { clientOf } from '../client.ts'
import { envelope, type Operation, route } from '../operation.ts'

const summaries: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(actions).map(([name, { summary }]) => [name, summary])),
  'claim-all': 'claim everything that a wallet can claim on a chain',
  'revoke-approval': "take back the protocol's allowance of a token",
}

/** What each plan does. */
const details: Readonly<Record<string, string>> = {
  'create-event':
    'Creates an event from its terms, or from a `quote` that the pricing engine prices and signs. The cost is the creation fee plus the seed capital. The wallet becomes the first liquidity provider.',
  deposit: "Deposits capital into an event's pool and creates a deposit. The cost is the amount.",
  'buy-protection':
    'Buys a position: works out the premium, the fee and the deadline, and sets `maxCost` to the cost plus `maxCostBps`.',
  'claim-payout':
    'Claims the payout of a position after its event was settled in the payout zone. `payout` has the amount before and after the fee.',
  'claim-premiums': 'Claims the premiums that a deposit has earned so far. The capital stays in the pool.',
  'withdraw-capital':
    "Withdraws a deposit's share of the capital that remains after payouts, once its event is settled.",
  'withdraw-creator-earnings': "Pays out the creator's share of the fees of an event. Only its creator can do so.",
  'set-pool-settings': 'Opens or closes a pool to deposits. Only the creator of the event can do so.',
  'submit-rate': 'Submits a settlement rate after expiry. Only a registered oracle can do so.',
  'claim-all':
    'Claims up to 50 payouts, premiums, capital and creator earnings of a wallet on one chain, each in a step of its own. `remaining` counts the rest.',
  'revoke-approval': "Sets the protocol's allowance of a token to 0.",
}

/** What all plans have in common. */
const COMMON =
  'The transactions are simulated one after the other on the newest block, with an approval first where one is missing. The plan is also returned when the action would revert; `issues` then has the reasons.'

/** Mounts the plan of every action. */
export const planRoutes: FastifyPluginAsync<{ readonly plan: Planner }> = async (app, { plan }) => {
  for (const [name, body] of Object.entries(intents)) {
    const operation: Operation = {
      id: `plan${name.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
      tag: 'Plans',
      summary: `Plan to ${summaries[name]}`,
      description: `${details[name]} ${COMMON}`,
      failures: ['upstream_error'],
    }
    app.post<{ Body: Intent }>(`/plans/${name}`, route(operation, envelope(Plan), { body }), async (request, reply) => {
      reply.header('cache-control', 'no-store')
      return { data: await plan(name, request.body, clientOf(request)) }
    })
  }
}
