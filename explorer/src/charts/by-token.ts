type Of = { readonly chainId: number; readonly token: string }

/** Rows of each chain and token, in the order in which these first appear. */
export const byToken = <T extends Of>(rows: readonly T[]): readonly (readonly [T, ...T[]])[] => {
  const groups = new Map<string, [T, ...T[]]>()
  for (const row of rows) {
    const key = `${row.chainId} ${row.token}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [row])
    else group.push(row)
  }
  return [...groups.values()]
}
