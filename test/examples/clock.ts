/** The time at which every example is recorded, in Unix seconds: 2026-10-01, noon UTC. */
export const NOW = 1_790_856_000

export const DAY = 86_400
