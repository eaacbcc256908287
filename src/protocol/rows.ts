import { createHash } from 'node:crypto'
import type { Hex } from 'viem'
import type { Deployment } from './chains.ts'
import { profiles } from './profiles.ts'
import * as record from './records.ts'
import { configuredTokens, type Token } from './tokens.ts'
import { integer } from './values.ts'

/*
 * Rows of lists as the JSON text they are served as. A row is a single read's record and what a list adds to it. The worker stores the text
 * with the observation it was rendered from; the API renders the same bytes where no text is stored.
 */

/** The version of the texts that this module returns. Raise it with every change of their bytes: stored texts of another version are not served. */
export const ROW_FORMAT = 1

/** What a list can add to a row from its event, in the order in which their texts are stored. */
export const inclusions = ['stats', 'utilization', 'range'] as const

export type Inclusion = (typeof inclusions)[number]

/** The transaction that created an entity; `txHash` is null when the entity was found in the chain's state. */
export type Creation = { readonly chainId: number; readonly blockNumber: bigint; readonly txHash: Hex | null }

/** A row without inclusions: the entity's record, its creation and the token of its amounts. */
export const rowText = (entity: object, { chainId, blockNumber, txHash }: Creation, token: Token): string =>
  JSON.stringify({ ...entity, chainId, createdBlock: integer(blockNumber), createdTx: txHash, ...token })

type EventViews = Parameters<typeof record.utilization>[0] &
  Parameters<typeof record.eventCore>[0] & { readonly stats: Parameters<typeof record.eventStats>[0] }

/** The texts of an event's inclusions, in the order of `inclusions`. */
export const inclusionTexts = (event: EventViews, profile: Deployment['profile']): string[] => {
  const texts: Readonly<Record<Inclusion, object>> = {
    stats: record.eventStats(event.stats),
    utilization: record.utilization(event, profiles[profile]),
    range: record.eventRange(event.range),
  }
  return inclusions.map((name) => JSON.stringify(texts[name]))
}

/** A row with some of its event's inclusions, each once, in the order they are given in. `textsOf` is called where one is asked for. */
export const withInclusions = (
  row: string,
  textsOf: () => readonly string[],
  include: readonly Inclusion[],
): string => {
  if (include.length === 0) return row
  const texts = textsOf()
  return `${row.slice(0, -1)}${[...new Set(include)].map((name) => `,"${name}":${texts[inclusions.indexOf(name)]}`).join('')}}`
}

/** Bits of a render key below its format. */
const HASH_BITS = 47n

/**
 * Identifies everything besides an entity's own columns that its text depends on: the format, the profile and the configured tokens. A
 * stored text is served only where its key is the reader's own. Fits PostgreSQL's bigint; keys of a later format are greater.
 */
export const renderKeyOf = (deployment: Deployment, format = ROW_FORMAT): bigint => {
  const inputs = JSON.stringify([deployment.profile, configuredTokens(deployment)])
  const hash = createHash('sha256').update(inputs).digest().readBigUInt64BE()
  return (BigInt(format) << HASH_BITS) | BigInt.asUintN(Number(HASH_BITS), hash)
}

/** The first key of the next format: another release rendered what has a key from there on. */
export const nextFormat = (key: bigint): bigint => ((key >> HASH_BITS) + 1n) << HASH_BITS
