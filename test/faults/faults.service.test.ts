import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import type { Bar } from './bar.ts'
import { kills } from './bars/kills.ts'
import { loss } from './bars/loss.ts'
import { reorgs } from './bars/reorgs.ts'
import { type Chains, openChains } from './rig.ts'

/** 200 and more are a matter of `npm run faults -- --seeds 200`. */
const seeds = Array.from({ length: 20 }, (_, at) => at + 1)

let chains: Chains
beforeAll(async () => {
  chains = await openChains(1)
})
afterAll(() => chains?.close())

// Times depend on what else the machine does, so they are printed; lost, doubled or wrong rows do not.
test.each<[string, Bar]>([
  ['1', loss],
  ['2', reorgs],
  ['6', kills],
])(
  'bar %s: no seed of 1 to 20 loses, doubles or falsifies a row, and no worker ends by itself',
  async (name, bar) => {
    const store = { server: inject('postgresUrl'), template: inject('templateDatabase') }
    const { measured, failures } = await bar.run({ store, chains, seeds, long: false })
    console.log(`bar ${name}, seeds 1 to 20: ${measured}`)
    expect(failures, `again: npm run faults -- --bar ${name} --seed ${failures[0]?.seed}`).toEqual([])
  },
  300_000,
)
