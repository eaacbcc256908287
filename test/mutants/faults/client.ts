import type { Faults } from '../fault.ts'

export const clientFaults: Faults = {}
