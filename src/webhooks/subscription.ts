import { subscribable, type WebhookFilter, type WebhookType } from '../db/schema/webhooks.ts'
import { invalidField } from '../lib/errors.ts'

/** The filters that have an effect on the messages of a type. */
const filtersOf = (type: WebhookType): readonly WebhookFilter[] => subscribable[type].filters

/**
 * Throws `validation_error` for a filter without an effect, and for a type of which the filters leave out nothing.
 * `given` has the field or option of each filter, in its order.
 */
export const requireEffect = (types: readonly WebhookType[], given: ReadonlyMap<WebhookFilter, string>): void => {
  for (const [filter, field] of given) {
    if (!types.some((type) => filtersOf(type).includes(filter)))
      throw invalidField(field, `has no effect on ${types.join(', ')}: leave it out, or choose other types`)
  }
  const whole = types.filter((type) => !filtersOf(type).some((filter) => given.has(filter)))
  const [field] = given.values()
  if (field !== undefined && whole.length > 0)
    throw invalidField(field, `has no effect on ${whole.join(', ')}: register an endpoint of its own for it`)
}
