import { createPublicClient, http } from 'viem'
import { expect } from 'vitest'
import { sandbox } from './process.ts'

/**
 * Maximum age in seconds. A busy machine delays the read of the block. A chain that did not continue has a block older
 * than the stop.
 */
const PRESENT_SECONDS = 10

/** The newest block of each chain. */
export const newestBlocks = async () =>
  Promise.all(Object.values(sandbox.rpcUrls).map((url) => createPublicClient({ transport: http(url) }).getBlock()))

export const expectPresent = async (): Promise<void> => {
  for (const { timestamp } of await newestBlocks())
    expect(Math.abs(Date.now() / 1_000 - Number(timestamp))).toBeLessThan(PRESENT_SECONDS)
}
