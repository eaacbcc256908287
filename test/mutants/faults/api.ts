import type { Faults } from '../fault.ts'
import { limitFaults } from './api-limits.ts'
import { responseCacheFaults } from './api-response-cache.ts'
import { streamFaults } from './api-streams.ts'

export const apiFaults: Faults = { ...limitFaults, ...responseCacheFaults, ...streamFaults }
