type Vertex = { readonly point: readonly number[]; readonly value: number }

/**
 * Maximum steps of a search. More would not improve a fit: every function minimised here has at most four arguments.
 */
const MAX_STEPS = 2_000

/**
 * The lowest point that the simplex search of Nelder & Mead (1965), Computer Journal 7:308-313, finds from `start`,
 * with first steps of `step` along each axis. NaN counts as too high. Stops when the simplex's values agree within
 * `tolerance`.
 */
export const minimise = (
  cost: (point: readonly number[]) => number,
  start: readonly number[],
  { step = 0.5, tolerance = 1e-10 }: { readonly step?: number; readonly tolerance?: number } = {},
): Vertex => {
  const at = (point: readonly number[]): Vertex => {
    const value = cost(point)
    return { point, value: Number.isNaN(value) ? Infinity : value }
  }
  /**
   * The point `factor` of the way from `from` to `to`: 2 mirrors `from` at `to`, 3 goes twice the distance beyond `to`.
   */
  const along = (from: readonly number[], to: readonly number[], factor: number): Vertex =>
    at(from.map((x, axis) => x + factor * ((to[axis] ?? x) - x)))

  const corners = start.map((_, moved) => start.map((x, axis) => (axis === moved ? x + step : x)))
  let simplex = [start, ...corners].map(at)
  for (let taken = 0; ; taken += 1) {
    simplex.sort((a, b) => a.value - b.value)
    const [best, worst, second] = [simplex.at(0), simplex.at(-1), simplex.at(-2)]
    if (best === undefined || worst === undefined || second === undefined) throw new RangeError('nothing to minimise')
    if (worst.value - best.value <= tolerance || taken >= MAX_STEPS) return best

    const others = simplex.slice(0, -1)
    const centre = start.map(
      (_, axis) => others.reduce((sum, { point }) => sum + (point[axis] ?? 0), 0) / others.length,
    )
    const mirrored = along(worst.point, centre, 2)
    const expanded = mirrored.value < best.value ? along(worst.point, centre, 3) : mirrored
    const contracted =
      mirrored.value < second.value ? mirrored : along(worst.point, centre, mirrored.value < worst.value ? 1.5 : 0.5)
    const next = expanded.value < mirrored.value ? expanded : contracted
    simplex =
      next.value < worst.value
        ? [...others, next]
        : [best, ...simplex.slice(1).map(({ point }) => along(best.point, point, 0.5))]
  }
}
