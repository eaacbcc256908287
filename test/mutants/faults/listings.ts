import type { Faults } from '../fault.ts'

export const listingsFaults: Faults = {}
