import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** How often seeded tests repeat: few times by default, in full before a release. */
    form: 'default' | 'long'
    /** The first seed of every seeded test of this run. */
    seed: number
  }
}

/** The seed of this run. It changes from run to run, is printed at the start, and `TEST_SEED` sets it again. */
export const seed = inject('seed')

/**
 * A number of repetitions, or another size: the first by default, the second in the long form (`npm run test:long`).
 */
export const byForm = <T>(usual: T, long: T): T => (inject('form') === 'long' ? long : usual)

/** `count` seeds of this run, by default beginning with the run's own. */
export const seedsFrom = (count: number, first = seed): number[] => Array.from({ length: count }, (_, at) => first + at)
