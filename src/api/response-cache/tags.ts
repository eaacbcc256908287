import { createHash } from 'node:crypto'
import type { Hex } from 'viem'
import type { StoredBlock } from '../../db/stored.ts'
import { commit, release } from '../../lib/root.ts'
import type { Deployment } from '../../protocol/chains.ts'
import { configuredTokens } from '../../protocol/tokens.ts'
import { isTag, tagsOf } from '../if-none-match.ts'

/**
 * An entity tag: the version of the resource that was known when the response was read. It is valid until the resource
 * changes. Data read from the chain is as of a block that the index may not have reached, or never reaches after a
 * reorg, so its tag names that block too.
 */
export type Tag = { readonly version: number; readonly block: BlockRef | null }

/** A block by its number and the first digits of its hash. */
export type BlockRef = { readonly number: number; readonly hashPrefix: string }

/** Hex digits of a block hash in a tag. */
const HASH_DIGITS = 16

/** Makes the reference to a block. */
export const blockRefOf = ({ number, hash }: { readonly number: bigint; readonly hash: Hex }): BlockRef => ({
  number: Number(number),
  hashPrefix: hash.slice(2, 2 + HASH_DIGITS),
})

/** Hex digits of the hash in an edition. */
const EDITION_DIGITS = 12

type Settings = Pick<Deployment, 'chainId' | 'profile' | 'usdc' | 'usdt' | 'paymentDecimals'>

/** What a body depends on in addition to the index: the release and its build, and the settings of the chains, in order. */
export const editionOf = (deployments: readonly Settings[], build = commit): string => {
  const settings = deployments.map((it) => [it.chainId, it.profile, configuredTokens(it)])
  const hash = createHash('sha256')
    .update(JSON.stringify([build, settings]))
    .digest('hex')
  return `${release}.${hash.slice(0, EDITION_DIGITS)}`
}

/** Creates the codec of the tags of an edition. */
export const createTags = (edition: string) => {
  const textOf = ({ version, block: pin }: Tag): string =>
    [edition, version.toString(36), ...(pin === null ? [] : [pin.number.toString(36), pin.hashPrefix])].join('~')

  /** The value of `ETag`. It is weak, because one tag covers the body in every encoding. */
  const encode = (tag: Tag): string => `W/"${textOf(tag)}"`

  /**
   * Parses the tags of an `If-None-Match` that this edition made. Others are ignored, and so is `*`: whether a resource
   * exists is unknown before it is read.
   */
  const decode = (header: string): Tag[] =>
    tagsOf(header).flatMap((given): Tag[] => {
      const [tagEdition, version = '', number, hash] = given.split('~')
      const [hashPrefix = ''] = /^[0-9a-f]*/.exec(hash ?? '') ?? []
      const tag = {
        version: Number.parseInt(version, 36),
        block: number === undefined || hash === undefined ? null : { number: Number.parseInt(number, 36), hashPrefix },
      }
      // Encoding the tag again also rejects what the decoder ignores.
      return tagEdition === edition && isTag(given, textOf(tag)) ? [tag] : []
    })

  return { encode, decode }
}

export type Tags = ReturnType<typeof createTags>

/** Whether a reference is to this block. */
export const refersTo = (reference: BlockRef, block: Pick<StoredBlock, 'number' | 'hash'>): boolean => {
  const { number, hashPrefix: mark } = blockRefOf(block)
  return number === reference.number && mark === reference.hashPrefix
}
