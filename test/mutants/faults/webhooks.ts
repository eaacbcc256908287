import type { Faults } from '../fault.ts'
import { composeFaults } from './webhooks-compose.ts'
import { deliveryFaults } from './webhooks-delivery.ts'
import { libFaults } from './webhooks-lib.ts'

/** Faults of webhooks, and of the parts that processes are composed of. */
export const webhooksFaults: Faults = { ...deliveryFaults, ...composeFaults, ...libFaults }
