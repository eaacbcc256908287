import { z } from 'zod'

/*
 * The numbers that the protocol's views return as status, and their texts. They are the same for every kind of
 * deployment; those that a deployment never returns are listed too. The text of an event is what the chain has recorded:
 * past its expiry an event is `unsettled` until it is settled.
 */

const texts = {
  event: ['unsettled', 'settled', 'expired'],
  position: ['active', 'settled_win', 'settled_loss', 'claimed', 'claimable', 'expired'],
  proposal: ['pending', 'cancelled', 'executed'],
} as const

type Kind = keyof typeof texts

/** The text of a number that no deployment is known to return. */
const UNKNOWN = 'unknown'

export type StatusText<K extends Kind> = (typeof texts)[K][number] | typeof UNKNOWN

/** The text of a status. */
export const statusText = <K extends Kind>(kind: K, status: number): StatusText<K> => texts[kind][status] ?? UNKNOWN

/** The number of a status. */
export const statusNumber = <K extends Kind>(kind: K, text: (typeof texts)[K][number]): number =>
  (texts[kind] as readonly string[]).indexOf(text)

/** The schema of that text. */
export const statusTextOf = <K extends Kind>(kind: K) =>
  z.enum([...texts[kind], UNKNOWN] as readonly StatusText<K>[]).meta({ description: '`status` as a text' })

/** What the numbers of a status mean, for its description. */
export const statusNumbers = (kind: Kind): string =>
  `The chain's number: ${texts[kind].map((text, number) => `${number} ${text}`).join(', ')}`
