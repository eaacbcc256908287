import { Client } from 'pg'
import { expect, inject, test } from 'vitest'
import type { Bar } from './bar.ts'
import { kills } from './bars/kills.ts'
import { loss } from './bars/loss.ts'
import { reorgs } from './bars/reorgs.ts'
import { openChains, openIndex } from './rig.ts'
import { type VariantName, variants } from './variant.ts'

const store = () => ({ server: inject('postgresUrl'), template: inject('templateDatabase') })

const upTo = (last: number): number[] => Array.from({ length: last }, (_, at) => at + 1)

test('the oracle finds one lost, one wrong and one invented row', async () => {
  const chains = await openChains(1)
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
    await chains.close()
  }
}, 120_000)

const bars: Readonly<Record<string, Bar>> = { '1': loss, '2': reorgs, '6': kills }

// Times depend on what else the machine does, so they are printed; lost, doubled or wrong rows do not. More seeds: docs/bars.md.
// Bars that mostly wait, for a lease or for traffic, run side by side.
test.each<{ names: string[]; variant: VariantName; seeds: number[] }>([
  { names: ['1'], variant: 'reference', seeds: upTo(20) },
  { names: ['2', '6'], variant: 'reference', seeds: upTo(20) },
  { names: ['1', '2', '6'], variant: 'three-logs', seeds: upTo(2) },
  { names: ['1', '2', '6'], variant: 'deployed', seeds: upTo(2) },
  { names: ['1', '2', '6'], variant: 'no-logs', seeds: upTo(2) },
])(
  'bars $names, $variant: no row is lost, doubled or wrong, no worker ends by itself',
  async ({ names, variant, seeds }) => {
    const run = async (name: string) => {
      const chains = await openChains(1, variants[variant])
      try {
        const outcome = await bars[name]?.run({ store: store(), chains, seeds, long: false })
        console.log(`bar ${name} (${variant}): ${outcome?.measured}`)
        return outcome?.failures.map(({ seed, what }) => ({
          again: `npm run faults -- --bar ${name} --variant ${variant} --seed ${seed}`,
          what,
        }))
      } finally {
        await chains.close()
      }
    }
    expect((await Promise.all(names.map(run))).flat()).toEqual([])
  },
  300_000,
)
