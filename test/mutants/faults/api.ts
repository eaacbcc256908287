import type { Faults } from '../fault.ts'
import { limitFaults } from './api-limits.ts'
import { pluginFaults } from './api-plugins.ts'
import { responseCacheFaults } from './api-response-cache.ts'
import { routeFaults } from './api-routes.ts'
import { streamFaults } from './api-streams.ts'

export const apiFaults: Faults = {
  ...limitFaults,
  ...pluginFaults,
  ...responseCacheFaults,
  ...routeFaults,
  ...streamFaults,
}
