import { walletFault } from './wallet-provider.ts'

/* Answers of wallets in place of their own. */

/** Fails the first requests of a method. */
export const failing = (times: number, fail: () => unknown) => {
  let failed = 0
  return (own: () => Promise<unknown>) => (failed++ < times ? fail() : own())
}

/** Its own answer without some fields. */
export const without = (own: () => Promise<unknown>, ...names: readonly string[]) =>
  own().then((status) => Object.fromEntries(Object.entries(Object(status)).filter(([name]) => !names.includes(name))))

export const fault = (code: number, message?: string) => (): never => {
  throw walletFault(code, message)
}

/** An internal error of a wallet, around another one. */
export const wrapped = (code: number) => (): never => {
  throw Object.assign(walletFault(-32603), { data: { code } })
}

export const lost = (): never => {
  throw new TypeError('fetch failed')
}

/** Sends what was asked for, and then fails. */
export const sendsAndFails = (fail: () => never) => async (own: () => Promise<unknown>) => {
  await own()
  return fail()
}
