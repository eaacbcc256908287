/** A seeded stream of uniform numbers in (0, 1) (mulberry32), so that a simulation is the same in every run. */
const uniforms = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return (((mixed ^ (mixed >>> 14)) >>> 0) + 0.5) / 2 ** 32
  }
}

/** A seeded stream of standard normal numbers (Box & Muller). */
export const normals = (seed: number): (() => number) => {
  const uniform = uniforms(seed)
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform())
}

/** Returns of a GARCH(1,1) process about `mean`. */
export const simulateGarch = (
  { omega, alpha, beta, mean = 0 }: { omega: number; alpha: number; beta: number; mean?: number },
  count: number,
  seed: number,
): number[] => {
  const normal = normals(seed)
  let variance = omega / (1 - alpha - beta)
  return Array.from({ length: count }, () => {
    const residual = Math.sqrt(variance) * normal()
    variance = omega + alpha * residual ** 2 + beta * variance
    return mean + residual
  })
}
