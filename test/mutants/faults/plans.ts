import type { Faults } from '../fault.ts'

export const plansFaults: Faults = {}
