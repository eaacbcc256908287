import { z } from 'zod'
import type { WebhooksHealth } from '../../db/webhooks/endpoints.ts'
import { Integer } from '../../protocol/fields/response-fields.ts'

/** Seconds without a successful delivery after which an endpoint is reported. */
const ALARM_AFTER_SECONDS = 24 * 60 * 60

const FailingEndpoint = z
  .object({
    id: z.string(),
    state: z.enum(['active', 'paused', 'disabled']).meta({
      description:
        '`active`: messages are sent again; `paused`: after ten attempts, or by an operator; `disabled`: the receiver answered 410',
    }),
    failingSeconds: Integer.meta({ description: 'Seconds since the first failure after the last success' }),
  })
  .meta({ id: 'FailingEndpoint' })

/** The state of the webhooks. */
export const WebhooksStatus = z
  .object({
    endpoints: Integer.meta({ description: 'Registered endpoints' }),
    waiting: Integer.meta({ description: 'Messages that wait for delivery' }),
    failing: z.array(FailingEndpoint).meta({ description: 'The endpoints whose last attempt failed' }),
  })
  .meta({ id: 'WebhooksStatus' })

export const webhooksStatus = ({ endpoints, waiting, failing }: WebhooksHealth): z.output<typeof WebhooksStatus> => ({
  endpoints,
  waiting,
  failing: failing.map(({ id, state, failingSeconds }) => ({ id, state, failingSeconds: Math.floor(failingSeconds) })),
})

/** A sentence with its remedy for each endpoint that has failed for a day or is stopped. */
export const webhookAlarms = ({ failing }: WebhooksHealth): string[] =>
  failing
    .filter(({ state, failingSeconds }) => state !== 'active' || failingSeconds >= ALARM_AFTER_SECONDS)
    .map(({ id, state, failingSeconds }) => {
      const hours = Math.floor(failingSeconds / 3_600)
      const reason = state === 'disabled' ? 'because the receiver answered 410' : `and has failed for ${hours} h`
      return `Webhook endpoint ${id} is ${state} ${reason}: repair the receiver and run webhooks resume ${id}, or remove the endpoint.`
    })
