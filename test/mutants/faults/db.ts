import type { Faults } from '../fault.ts'

export const dbFaults: Faults = {}
