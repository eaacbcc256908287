import { administrationReverts } from './administration.ts'
import { eventReverts } from './events.ts'
import { machineReverts } from './machine.ts'
import { poolReverts } from './pools.ts'
import { protectionReverts } from './protection.ts'
import { quoteReverts } from './quotes.ts'
import type { Revert } from './revert.ts'
import { settlementReverts } from './settlement.ts'
import { tokenReverts } from './tokens.ts'
import { upgradeReverts } from './upgrades.ts'

/** Every known way in which a call can fail, by code. */
export const reverts: readonly Revert[] = [
  ...eventReverts,
  ...quoteReverts,
  ...poolReverts,
  ...protectionReverts,
  ...settlementReverts,
  ...administrationReverts,
  ...upgradeReverts,
  ...tokenReverts,
  ...machineReverts,
].toSorted((a, b) => (a.code < b.code ? -1 : 1))

/** The row of a code. Throws a TypeError for a code that the catalogue lacks. */
export const revertByCode = (code: string): Revert => {
  const row = reverts.find((each) => each.code === code)
  if (row === undefined) throw new TypeError(`the catalogue has no code ${code}`)
  return row
}
