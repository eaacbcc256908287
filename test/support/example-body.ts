import type { RouteOptions } from 'fastify'
import { operationId } from '../../src/api/openapi/operation-id.ts'
import { readRecorded } from '../../src/api/openapi/recorded.ts'

const recorded = readRecorded()

/** The body of the recorded example of a route. Throws when it has none. */
export const exampleBody = ({ method, url, config }: Pick<RouteOptions, 'method' | 'url' | 'config'>) => {
  const id = config?.operation?.id ?? operationId(String(method), url)
  const { body } = recorded[id] ?? {}
  if (body === undefined) throw new Error(`no example of a body of ${id} is recorded`)
  return body
}
