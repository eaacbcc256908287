import { Client } from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import type { Bar } from './bar.ts'
import { kills } from './bars/kills.ts'
import { loss } from './bars/loss.ts'
import { reorgs } from './bars/reorgs.ts'
import { type Chains, openChains, openIndex } from './rig.ts'

/** 200 and more are a matter of `npm run faults -- --seeds 200`. */
const seeds = Array.from({ length: 20 }, (_, at) => at + 1)

let chains: Chains
beforeAll(async () => {
  chains = await openChains(1)
})
afterAll(() => chains?.close())

const store = () => ({ server: inject('postgresUrl'), template: inject('templateDatabase') })

test('the oracle finds one lost, one wrong and one invented row', async () => {
  const index = await openIndex({ store: store(), chains, seed: 1 })
  const client = new Client(index.database.url)
  try {
    const worker = await index.start('worker')
    for (let at = 0; at < 3; at += 1) await chains.traffic.mine(3)
    await index.untilExact(await chains.traffic.mine(3), 60_000)
    await worker.kill()
    await client.connect()
    await client.query('DELETE FROM events WHERE id = 1 AND chain_id = 8453')
    await client.query('UPDATE deposits SET amount = amount + 1 WHERE id = 1 AND chain_id = 8453')
    await client.query('UPDATE deposits SET id = 4711 WHERE id = 2 AND chain_id = 8453')
    expect(await index.oracle.look()).toMatchObject({
      missing: ['event 1', 'deposit 2'],
      extra: ['deposit 4711'],
      different: ['deposit 1'],
    })
  } finally {
    await client.end()
    await index.close()
  }
}, 120_000)

// Times depend on what else the machine does, so they are printed; lost, doubled or wrong rows do not.
test.each<[string, Bar]>([
  ['1', loss],
  ['2', reorgs],
  ['6', kills],
])(
  'bar %s: no seed of 1 to 20 loses, doubles or falsifies a row, and no worker ends by itself',
  async (name, bar) => {
    const { measured, failures } = await bar.run({ store: store(), chains, seeds, long: false })
    console.log(`bar ${name}, seeds 1 to 20: ${measured}`)
    expect(failures, `again: npm run faults -- --bar ${name} --seed ${failures[0]?.seed}`).toEqual([])
  },
  300_000,
)
