import type { Faults } from '../fault.ts'
import { responseCacheFaults } from './api-response-cache.ts'

export const apiFaults: Faults = { ...responseCacheFaults }
