import type { Faults } from '../fault.ts'

export const jobsFaults: Faults = {}
