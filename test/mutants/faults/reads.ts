import type { Faults } from '../fault.ts'

export const readsFaults: Faults = {}
