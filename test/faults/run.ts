import { parseArgs } from 'node:util'
import { createClosers } from '../../src/lib/lifecycle.ts'
import { setup as build } from '../support/built.ts'
import { type Bar, chunks } from './bar.ts'
import { backfill, byIds } from './bars/backfill.ts'
import { corpus } from './bars/corpus.ts'
import { cost } from './bars/cost.ts'
import { freshness } from './bars/freshness.ts'
import { kills } from './bars/kills.ts'
import { loss, mix } from './bars/loss.ts'
import { deadNode, postgresGone } from './bars/outages.ts'
import { ownTransaction } from './bars/own-transaction.ts'
import { pollers } from './bars/pollers.ts'
import { badNode } from './bars/readers.ts'
import { refresh } from './bars/refresh.ts'
import { deep, liar, reorgs } from './bars/reorgs.ts'
import { slowReader } from './bars/slow-reader.ts'
import { tags } from './bars/tags.ts'
import { takeover } from './bars/takeover.ts'
import { upgrade } from './bars/upgrade.ts'
import { walk } from './bars/walk.ts'
import { openChains, openStore } from './rig.ts'
import { isVariant, variants } from './variant.ts'

/** Bars to which every seed is a case of its own; the others take the first. */
const ofEverySeed: Readonly<Record<string, Bar>> = { '1': loss, '1-mix': mix, '2': reorgs, '6': kills }

const bars: Readonly<Record<string, Bar>> = {
  ...ofEverySeed,
  '2-liar': liar,
  '2-deep': deep,
  '3': cost,
  '4': freshness,
  '5': backfill,
  '5-ids': byIds,
  '7': takeover,
  '8': postgresGone,
  '9': badNode,
  '10': corpus,
  '11': deadNode,
  refresh,
  upgrade,
  'reads-walk': walk,
  'reads-after-tx': ownTransaction,
  'reads-tags': tags,
  'reads-pollers': pollers,
  'reads-slow': slowReader,
}

/** Bars to which it may matter what the protocol emits and how it was deployed. */
const ofEveryVariant = '1,1-mix,2,2-liar,2-deep,3,4,6,7,8,11'

/** Most seeds that go through one chain: a node takes the longer for a block the more there are. */
const OF_A_CHAIN = 20

/** `npm run faults -- [--bar 1,2] [--variant NAME] [--seeds 20] [--seed N] [--long]`: one line a bar and 20 seeds, and how to see each failure again. */
const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: {
      bar: { type: 'string' },
      variant: { type: 'string', default: 'reference' },
      seeds: { type: 'string', default: '20' },
      seed: { type: 'string' },
      long: { type: 'boolean', default: false },
    },
  })
  const seeds =
    values.seed === undefined ? Array.from({ length: Number(values.seeds) }, (_, at) => at + 1) : [Number(values.seed)]
  const { variant } = values
  if (!isVariant(variant)) throw new RangeError(`no variant ${variant}: there are ${Object.keys(variants).join(', ')}`)
  const all = variant === 'reference' ? Object.keys(bars).join() : ofEveryVariant
  const chosen = (values.bar ?? all).split(',').map((name) => {
    const bar = bars[name]
    if (bar === undefined) throw new RangeError(`no bar ${name}: there are ${Object.keys(bars).join(', ')}`)
    return { name, bar }
  })
  const closers = createClosers()
  await build()
  try {
    const store = closers.add('PostgreSQL', await openStore(), (it) => it.close())
    const cases = chosen.flatMap(({ name, bar }) =>
      chunks(name in ofEverySeed ? seeds : seeds.slice(0, 1), OF_A_CHAIN).map((some) => ({ name, bar, some })),
    )
    for (const { name, bar, some } of cases) {
      const chains = await openChains(some[0] ?? 1, variants[variant])
      const { measured, met, failures } = await bar
        .run({ store, chains, seeds: some, long: values.long })
        .finally(chains.close)
      const where = variant === 'reference' ? '' : ` (${variant})`
      const which = some.length > 1 ? `, seeds ${some[0]} to ${some.at(-1)}` : ''
      console.log(
        `bar ${name}${where}${which} | ${bar.claim} | ${bar.figure} | ${measured} | ${met ? 'met' : 'MISSED'}`,
      )
      for (const { seed, what } of failures)
        console.log(
          `  seed ${seed}: ${what}\n  again: npm run faults -- --bar ${name} --variant ${variant} --seed ${seed}`,
        )
      if (!met) process.exitCode = 1
    }
  } finally {
    await closers.close()
  }
}

await main()
