import { planPaths } from './names.generated.ts'
import type { Requests } from './requests.ts'
import type { CallOptions, RequestBody, Schemas } from './types.ts'

type PlanPaths = typeof planPaths

export type Plans = {
  readonly [Action in keyof PlanPaths]: (
    request: RequestBody<PlanPaths[Action]>,
    call?: CallOptions,
  ) => Promise<Schemas['Plan']>
}

/** A function for each plan of the description. */
export const createPlans = (api: Requests): Plans =>
  Object.fromEntries(
    Object.entries(planPaths).map(([action, path]) => [
      action,
      async (request: never, call?: CallOptions) => (await api.post(path, request, call)).data,
    ]),
  ) as Plans
