import { BODY_LIMIT } from '../limits/limits.ts'
import { bodyTooLarge, type Failure, type FailureName, failures, missing } from './failures.ts'
import type { JsonSchema } from './json-schema.ts'
import type { Route } from './route.ts'
import type { HeaderName } from './texts.ts'

export const json = (schema: JsonSchema, example: unknown) => ({ 'application/json': { schema, example } })

export const sent = (names: readonly HeaderName[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

export const errorResponse = ({ status, description, example }: Failure, schema: JsonSchema) => ({
  description,
  headers: sent([...(status === 503 || status === 429 ? (['Retry-After'] as const) : []), 'X-Request-Id', 'Link']),
  content: json(schema, example),
})

export const notModified = {
  description: 'The data has not changed since the response with that tag',
  headers: sent(['X-Request-Id', 'X-Data-Source', 'X-Index-Lag', 'X-Transaction', 'ETag', 'Cache-Control', 'Vary']),
}

/** The errors that follow from the input and the kind of a route. */
const sharedFailures = ({ schema: { params, querystring: query, body }, operation }: Route): readonly FailureName[] => {
  const takesInput = body !== undefined || [params, query].some((it) => Object.keys(it?.shape ?? {}).length > 0)
  const takesNothing = !takesInput && query !== undefined
  return [
    ...(takesInput ? (['validation_error'] as const) : []),
    ...(takesNothing ? (['unknown_parameter'] as const) : []),
    ...(body === undefined ? [] : (['body_too_large', 'body_not_json'] as const)),
    ...(operation.bearer === true ? (['unauthorized'] as const) : []),
    ...(operation.apiKey === true ? (['key_required', 'self_service_off'] as const) : []),
    'rate_limited',
    'internal_error',
    'service_unavailable',
  ]
}

/** The name of the component of a 404: its message without values, such as `event_does_not_exist`. */
const missingName = (message: string): string =>
  (message.replace(/0x\w+|\d+|on chain \d+/g, '').match(/[a-z]+/gi) ?? []).join('_').toLowerCase()

/** The error responses that depend on the route, by status, with the names of their components. */
const ownFailures = ({ schema, operation, bodyLimit }: Route, keys: Readonly<Record<string, string>>) => {
  const absent = operation.missing?.(keys)
  return {
    ...(absent !== undefined && { 404: [missingName(absent), missing(absent)] as const }),
    ...(schema.body !== undefined &&
      bodyLimit !== BODY_LIMIT && { 413: [`body_larger_than_${bodyLimit}`, bodyTooLarge(bodyLimit)] as const }),
  }
}

/** The error responses of a route by status, with the names of their components. `keys` are its example parameters. */
export const failuresOf = (
  route: Route,
  keys: Readonly<Record<string, string>>,
): [status: string, named: readonly [name: string, failure: Failure]][] => {
  const names = [...sharedFailures(route), ...(route.operation.failures ?? [])]
  const shared = names.map((name) => [failures[name].status, [name, failures[name]]] as const)
  return Object.entries({ ...Object.fromEntries(shared), ...ownFailures(route, keys) })
}
