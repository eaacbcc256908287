import type { Faults } from '../fault.ts'

export const webhooksFaults: Faults = {}
