export const kinds = ['event', 'deposit', 'position'] as const

/** What is created on the chain and counted by ids. */
export type Kind = (typeof kinds)[number]
