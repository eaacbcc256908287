import type { Operation, RouteSchema } from '../operation.ts'

/** A mounted route: its description, and the schemas that validate its input and serialize its output. */
export type Route = {
  readonly method: string
  readonly url: string
  readonly operation: Operation
  readonly schema: RouteSchema
  /** Largest body in bytes. */
  readonly bodyLimit: number
}
