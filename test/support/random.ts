import { normals, uniforms } from '../../src/lib/random.ts'

/** Returns of a GARCH(1,1) process about `mean`. */
export const simulateGarch = (
  { omega, alpha, beta, mean = 0 }: { omega: number; alpha: number; beta: number; mean?: number },
  count: number,
  seed: number,
): number[] => {
  const normal = normals(uniforms(seed))
  let variance = omega / (1 - alpha - beta)
  return Array.from({ length: count }, () => {
    const residual = Math.sqrt(variance) * normal()
    variance = omega + alpha * residual ** 2 + beta * variance
    return mean + residual
  })
}
