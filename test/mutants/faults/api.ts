import type { Faults } from '../fault.ts'
import { responseCacheFaults } from './api-response-cache.ts'
import { streamFaults } from './api-streams.ts'

export const apiFaults: Faults = { ...responseCacheFaults, ...streamFaults }
