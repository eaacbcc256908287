import { Client } from 'pg'
import { expect, inject, test } from 'vitest'
import { byForm, seed, seedsFrom } from '../support/repetitions.ts'
import { openChains, openIndex } from './rig.ts'
import { chunks, SEEDS_PER_CHAIN, type Target } from './target.ts'
import { kills, seedsOfPhases } from './targets/kills.ts'
import { loss } from './targets/loss.ts'
import { reorgs } from './targets/reorgs.ts'
import { isVariant, type VariantName, variants } from './variant.ts'

const variantNames = Object.keys(variants).filter(isVariant)

const store = () => ({ server: inject('postgresUrl'), template: inject('templateDatabase') })

test('the verifier finds one lost, one wrong and one invented row, of facts and of the ledger', async () => {
  const chains = await openChains(1)
  const index = await openIndex({ store: store(), chains, seed: 1, ledger: 'all' })
  const client = new Client(index.database.url)
  try {
    const worker = await index.start('worker')
    for (let at = 0; at < 3; at += 1) await chains.traffic.mine(3)
    await index.untilExact(await chains.traffic.mine(3), 60_000)
    await index.untilFolded(60_000)
    await worker.kill()
    await client.connect()
    await client.query('UPDATE ledger SET amount = amount + 1 WHERE chain_id = 8453')
    await expect(index.untilFolded(0)).rejects.toThrow(/differ from the ledger: event 1: its logs lead to another/)
    await client.query('DELETE FROM events WHERE id = 1 AND chain_id = 8453')
    await client.query('UPDATE deposits SET amount = amount + 1 WHERE id = 1 AND chain_id = 8453')
    await client.query('UPDATE deposits SET id = 4711 WHERE id = 2 AND chain_id = 8453')
    const { rows } = await client.query(
      'SELECT * FROM ledger WHERE chain_id = 8453 ORDER BY block_number DESC, log_index',
    )
    const [lost, wrong, moved] = rows.map((row) => `${row.block_number} ${row.log_index}`)
    const rowAt = (place = '') => `(block_number, log_index) = (${place.replace(' ', ',')}) AND chain_id = 8453`
    await client.query(`DELETE FROM ledger WHERE ${rowAt(lost)}`)
    await client.query(`UPDATE ledger SET data = data || '\\x00' WHERE ${rowAt(wrong)}`)
    await client.query(`UPDATE ledger SET log_index = 4711 WHERE ${rowAt(moved)}`)
    expect(await index.verifier.compare()).toMatchObject({
      missing: expect.arrayContaining(['event 1', 'deposit 2', `log ${lost}`, `log ${moved}`]),
      extra: expect.arrayContaining(['deposit 4711', `log ${moved?.split(' ')[0]} 4711`]),
      different: expect.arrayContaining(['deposit 1', `log ${wrong}`]),
    })
  } finally {
    await client.end()
    await index.close()
    await chains.close()
  }
}, 120_000)

type Case = {
  readonly target: Target
  /** Of the usual form. */
  readonly seeds: readonly number[]
}

const targets: Readonly<Record<string, Case>> = {
  '1': { target: loss, seeds: seedsFrom(1) },
  '2': { target: reorgs, seeds: seedsFrom(1) },
  '6': { target: kills, seeds: seedsOfPhases(seed) },
}

/** In the usual form each run has one of the targets, and over many runs each of them. */
const chosen = Object.entries(targets).filter((_, at) => byForm(at === seed % 3, true))

/** The targets of a variant and their seeds. */
const casesOf = (variant: VariantName): [string, Target, readonly number[]][] =>
  chosen.map(([name, { target, seeds }]) => [
    name,
    target,
    byForm(seeds, seedsFrom(variant === 'reference' ? 200 : 20, 1)),
  ])

// Times depend on the machine's other load, so they are printed and do not fail the test. Lost, duplicated and wrong
// rows do not depend on it. The targets mostly wait, for a lease or for traffic, so they run concurrently.
test.each(byForm(['reference' as const], variantNames))(
  'targets of variant %s: no row is lost, duplicated or wrong, and no worker exits by itself',
  async (variant) => {
    const failures: { readonly again: string; readonly what: string }[] = []
    const run = async ([name, target, seeds]: ReturnType<typeof casesOf>[number]): Promise<void> => {
      for (const part of chunks(seeds, SEEDS_PER_CHAIN)) {
        const chains = await openChains(part[0] ?? seed, variants[variant])
        try {
          const outcome = await target.run({ store: store(), chains, seeds: part, long: false })
          console.log(`target ${name} (${variant}, seeds ${part.join()}): ${outcome.measured}`)
          for (const { seed: failed, what } of outcome.failures)
            failures.push({ again: `npm run faults -- --target ${name} --variant ${variant} --seed ${failed}`, what })
        } finally {
          await chains.close()
        }
      }
    }
    await Promise.all(casesOf(variant).map(run))
    expect(failures).toEqual([])
  },
  byForm(300_000, 7_200_000),
)
