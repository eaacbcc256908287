type OfToken = { readonly chainId: number; readonly token: string }

/** The points of each chain and token, in the order of the answer. */
export const byToken = <Point extends OfToken>(points: readonly Point[]): readonly (readonly [Point, ...Point[]])[] => {
  const groups = new Map<string, [Point, ...Point[]]>()
  for (const point of points) {
    const key = `${point.chainId} ${point.token}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [point])
    else group.push(point)
  }
  return [...groups.values()]
}
