/** A seeded stream of numbers from 0 up to 1 (mulberry32): the same seed gives the same numbers. Not for secrets. */
export const uniforms = (seed: number): (() => number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A seeded stream of standard normal numbers (Box & Muller), each from two of `uniform`. */
export const normals = (uniform: () => number): (() => number) => {
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform())
}
