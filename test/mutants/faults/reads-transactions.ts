import type { Faults } from '../fault.ts'

export const transactionsFaults: Faults = {}
