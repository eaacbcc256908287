import type { Faults } from '../fault.ts'

export const healthFaults: Faults = {}
