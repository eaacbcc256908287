import type { FastifyPluginAsync } from 'fastify'
import { actions } from '../../plans/actions.ts'
import { type Intent, intents } from '../../plans/intents.ts'
import type { Planner } from '../../plans/planner.ts'
import { Plan } from '../../plans/records.ts'
import { envelope, type Operation, route } from '../operation.ts'

const summaries: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(actions).map(([name, { summary }]) => [name, summary])),
  'claim-all': 'claim everything that a wallet can claim on a chain',
  'revoke-approval': "take back the protocol's allowance of a token",
}

/** Mounts the plan of every action. */
export const planRoutes: FastifyPluginAsync<{ readonly plan: Planner }> = async (app, { plan }) => {
  for (const [name, body] of Object.entries(intents)) {
    const operation: Operation = {
      id: `plan${name.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
      tag: 'Plans',
      summary: `Plan to ${summaries[name]}`,
      description:
        'Works out the transactions of an action, simulates them one after the other on the newest block, and returns them with what they cost, pay and create. The plan is still returned when the action would revert; `issues` then has the reasons.',
      failures: ['upstream_error'],
    }
    app.post<{ Body: Intent }>(
      `/plans/${name}`,
      route(operation, envelope(Plan), { body }),
      async ({ body: intent }, reply) => {
        reply.header('cache-control', 'no-store')
        return { data: await plan(name, intent) }
      },
    )
  }
}
