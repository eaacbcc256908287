import { actions as all } from '../../src/plans/actions/table.ts'

/** The actions that one call does, by their names in the path. */
export const actions: Omit<typeof all, 'claim-all' | 'revoke-approval'> = all

export type ActionName = keyof typeof actions
