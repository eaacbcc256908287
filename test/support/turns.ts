/*
 * What a run of the default form leaves out to stay short, by its seed. The turns are independent of each other: they
 * are the digits of the seed in a number system whose digits have these numbers of values.
 */

const COMBINED = 8
const DEPLOYED = 3
const SANDBOX = 3

/** The files of `combined` with an index of this remainder by 8. */
export const isCombinedTurn = (seed: number, index: number): boolean => index % COMBINED === seed % COMBINED

/** One of three runs has the profile of deployments, and with it the random actions. */
export const isDeployedTurn = (seed: number): boolean => Math.floor(seed / COMBINED) % DEPLOYED === 0

/** The part of the tests of a sandbox, from 0 to 2. */
export const sandboxTurn = (seed: number): number => Math.floor(seed / COMBINED / DEPLOYED) % SANDBOX
