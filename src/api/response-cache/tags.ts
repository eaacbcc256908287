import { createRequire } from 'node:module'
import type { Hex } from 'viem'
import type { StoredBlock } from '../../db/stored.ts'
import { ROW_FORMAT } from '../../protocol/records.ts'

/**
 * An entity tag. It names the version of the resource that was known when the response was read, and is valid until the
 * resource changes. Data read from the chain is as of a block that the index may not have reached, or never reaches
 * after a reorg. Its tag names that block too.
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

const { version: build }: { readonly version: string } = createRequire(import.meta.url)('#package')

/** Another release or row format may render the same data differently. */
const release = `${build}.${ROW_FORMAT}`

/** The value of `ETag`. It is weak, because one tag covers the body in every encoding. */
export const encodeTag = ({ version, block: pin }: Tag): string => {
  const parts = [release, version.toString(36), ...(pin === null ? [] : [pin.number.toString(36), pin.hashPrefix])]
  return `W/"${parts.join('~')}"`
}

/**
 * Parses the tags of an `If-None-Match` header that this service made, weak or strong. Other tags are ignored, and so
 * is `*`: whether a resource exists is unknown before it is read.
 */
export const decodeTags = (header: string): Tag[] =>
  header.split(',').flatMap((entry): Tag[] => {
    const [, text = ''] = /^\s*(?:W\/)?"([^"]*)"\s*$/.exec(entry) ?? []
    const [tagRelease, version = '', number, hashPrefix] = text.split('~')
    const tag = {
      version: Number.parseInt(version, 36),
      block:
        number === undefined || hashPrefix === undefined ? null : { number: Number.parseInt(number, 36), hashPrefix },
    }
    // Encoding the tag again also rejects what the decoder ignores.
    return tagRelease === release && encodeTag(tag) === `W/"${text}"` ? [tag] : []
  })

/** Whether a reference is to this block. */
export const refersTo = (reference: BlockRef, block: Pick<StoredBlock, 'number' | 'hash'>): boolean => {
  const { number, hashPrefix: mark } = blockRefOf(block)
  return number === reference.number && mark === reference.hashPrefix
}
