import type { Faults } from '../fault.ts'

export const deliveryFaults: Faults = {}
