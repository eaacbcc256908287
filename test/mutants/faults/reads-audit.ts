import type { Faults } from '../fault.ts'

export const auditFaults: Faults = {}
