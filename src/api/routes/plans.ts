import type { FastifyPluginAsync } from 'fastify'
import { type ActionName, actions } from '../../plans/actions/table.ts'
import { Plan } from '../../plans/answer/schema.ts'
import type { ActionDefinition } from '../../plans/draft/definition.ts'
import type { Intent } from '../../plans/draft/request-body.ts'
import type { Planner } from '../../plans/planner.ts'
import { clientOf } from '../client.ts'
import { envelope, type Operation, route } from '../operation.ts'

/** What all plans have in common. */
const COMMON =
  'The transactions are simulated one after the other on the newest block, with an approval first where one is missing. The plan is also returned when the action would revert; `issues` then has the reasons.'

/** Mounts the plan of every action. */
export const planRoutes: FastifyPluginAsync<{ readonly plan: Planner }> = async (app, { plan }) => {
  for (const [name, { summary, description, body }] of Object.entries(actions) as [ActionName, ActionDefinition][]) {
    const operation: Operation = {
      id: `plan${name.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
      tag: 'Plans',
      summary: `Plan to ${summary}`,
      description: `${description} ${COMMON}`,
      failures: ['upstream_error'],
    }
    app.post<{ Body: Intent }>(`/plans/${name}`, route(operation, envelope(Plan), { body }), async (request, reply) => {
      reply.header('cache-control', 'no-store')
      return { data: await plan(name, request.body, clientOf(request)) }
    })
  }
}
