import type { Faults } from '../fault.ts'

export const indexerFaults: Faults = {}
