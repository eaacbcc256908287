import { parseArgs } from 'node:util'
import { createClosers } from '../../src/lib/lifecycle.ts'
import { setup as build } from '../support/built.ts'
import { openChains, openStore } from './rig.ts'
import { chunks, SEEDS_PER_CHAIN, type Target } from './target.ts'
import { backfill, byIds } from './targets/backfill.ts'
import { cost } from './targets/cost.ts'
import { feed } from './targets/feed.ts'
import { freshness } from './targets/freshness.ts'
import { kills } from './targets/kills.ts'
import { loss, mix } from './targets/loss.ts'
import { nodeErrors } from './targets/node-errors.ts'
import { deadNode, postgresGone } from './targets/outages.ts'
import { ownTransaction } from './targets/own-transaction.ts'
import { pagination } from './targets/pagination.ts'
import { pollers } from './targets/pollers.ts'
import { badNode } from './targets/readers.ts'
import { refresh } from './targets/refresh.ts'
import { deep, reorgs, wrongHashes } from './targets/reorgs.ts'
import { reversals } from './targets/reversals.ts'
import { slowReader } from './targets/slow-reader.ts'
import { tags } from './targets/tags.ts'
import { takeover } from './targets/takeover.ts'
import { highHead } from './targets/tip-high-head.ts'
import { behind, lateLogs, noHash, oddAnswers, pruned } from './targets/tip-nodes.ts'
import { unknownLogs } from './targets/tip-unknown.ts'
import { upgrade } from './targets/upgrade.ts'
import { webhooks } from './targets/webhooks.ts'
import { isVariant, variants } from './variant.ts'

/** Targets for which each seed is a separate case. The others use the first seed. */
const ofEverySeed: Readonly<Record<string, Target>> = {
  '1': loss,
  '1-mix': mix,
  '2': reorgs,
  '6': kills,
  feed,
  reversals,
  webhooks,
}

const targets: Readonly<Record<string, Target>> = {
  ...ofEverySeed,
  '2-wrong-hashes': wrongHashes,
  '2-deep': deep,
  '3': cost,
  '4': freshness,
  '5': backfill,
  '5-ids': byIds,
  '7': takeover,
  '8': postgresGone,
  '9': badNode,
  '10': nodeErrors,
  '11': deadNode,
  refresh,
  upgrade,
  'tip-high-head': highHead,
  'tip-behind': behind,
  'tip-late-logs': lateLogs,
  'tip-pruned': pruned,
  'tip-no-hash': noHash,
  'tip-odd': oddAnswers,
  'tip-unknown': unknownLogs,
  'reads-pages': pagination,
  'reads-after-tx': ownTransaction,
  'reads-tags': tags,
  'reads-pollers': pollers,
  'reads-slow': slowReader,
}

/** Targets that may depend on the logs of the protocol and on its deployment. */
const ofEveryVariant = '1,1-mix,2,2-wrong-hashes,2-deep,3,4,6,7,8,11,feed'

/**
 * `npm run faults -- [--target 1,2] [--variant NAME] [--seeds 20] [--seed N] [--long]` prints one line per target and
 * chain, and how to repeat each failure.
 */
const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: {
      target: { type: 'string' },
      variant: { type: 'string', default: 'reference' },
      seeds: { type: 'string', default: '20' },
      seed: { type: 'string' },
      long: { type: 'boolean', default: false },
    },
  })
  const seeds =
    values.seed === undefined ? Array.from({ length: Number(values.seeds) }, (_, at) => at + 1) : [Number(values.seed)]
  const { variant } = values
  if (!isVariant(variant))
    throw new RangeError(`unknown variant ${variant}: choose one of ${Object.keys(variants).join(', ')}`)
  const all = variant === 'reference' ? Object.keys(targets).join() : ofEveryVariant
  const chosen = (values.target ?? all).split(',').map((name) => {
    const target = targets[name]
    if (target === undefined)
      throw new RangeError(`unknown target ${name}: choose from ${Object.keys(targets).join(', ')}`)
    return { name, target }
  })
  const closers = createClosers()
  await build()
  try {
    const store = closers.add('PostgreSQL', await openStore(), (it) => it.close())
    const cases = chosen.flatMap(({ name, target }) =>
      chunks(name in ofEverySeed ? seeds : seeds.slice(0, 1), SEEDS_PER_CHAIN).map((some) => ({ name, target, some })),
    )
    for (const { name, target, some } of cases) {
      const chains = await openChains(some[0] ?? 1, variants[variant])
      const { measured, met, failures } = await target
        .run({ store, chains, seeds: some, long: values.long })
        .finally(chains.close)
      const where = variant === 'reference' ? '' : ` (${variant})`
      const which = some.length > 1 ? `, seeds ${some[0]} to ${some.at(-1)}` : ''
      console.log(
        `target ${name}${where}${which} | ${target.claim} | ${target.figure} | ${measured} | ${met ? 'met' : 'MISSED'}`,
      )
      for (const { seed, what } of failures)
        console.log(
          `  seed ${seed}: ${what}\n  again: npm run faults -- --target ${name} --variant ${variant} --seed ${seed}`,
        )
      if (!met) process.exitCode = 1
    }
  } finally {
    await closers.close()
  }
}

await main()
