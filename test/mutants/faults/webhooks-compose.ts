import type { Faults } from '../fault.ts'

export const composeFaults: Faults = {}
