import type { Faults } from '../fault.ts'

export const apiFaults: Faults = {}
