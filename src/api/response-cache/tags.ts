import { readFileSync } from 'node:fs'
import type { Hex } from 'viem'
import { z } from 'zod'
import type { StoredBlock } from '../../db/stored.ts'
import { packaged } from '../../lib/root.ts'
import { ROW_FORMAT } from '../../protocol/rows.ts'

/**
 * An entity tag: what has it was read when this version of it was known, and holds as long as nothing touches it. Content that the chain gave is
 * of a block that the index may not have reached, or never will: the tag names that block too.
 */
export type Tag = { readonly version: number; readonly pin: Pin | null }

/** A block by its number and enough of its hash to tell it from every other. */
export type Pin = { readonly number: number; readonly mark: string }

/** Hex digits of a hash in a tag. */
const MARK = 16

/** The pin of a block. */
export const pinOf = ({ number, hash }: { readonly number: bigint; readonly hash: Hex }): Pin => ({
  number: Number(number),
  mark: hash.slice(2, 2 + MARK),
})

const { version: build } = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(packaged('package.json'), 'utf8')))

/** Another release, or another format of rows, may word the same differently. */
const release = `${build}.${ROW_FORMAT}`

/** A tag as `ETag` shows it: weak, because one tag stands for a body in every encoding. */
export const encodeTag = ({ version, pin }: Tag): string => {
  const parts = [release, version.toString(36), ...(pin === null ? [] : [pin.number.toString(36), pin.mark])]
  return `W/"${parts.join('~')}"`
}

/**
 * The tags of an `If-None-Match` that are ours, weak or strong; others are left out. So is `*`: whether a resource exists at all is not known
 * before it is read.
 */
export const decodeTags = (header: string): Tag[] =>
  header.split(',').flatMap((entry): Tag[] => {
    const [, text = ''] = /^\s*(?:W\/)?"([^"]*)"\s*$/.exec(entry) ?? []
    const [of, version = '', number, mark] = text.split('~')
    const tag = {
      version: Number.parseInt(version, 36),
      pin: number === undefined || mark === undefined ? null : { number: Number.parseInt(number, 36), mark },
    }
    // Encoding again also refuses what the decoder lets pass.
    return of === release && encodeTag(tag) === `W/"${text}"` ? [tag] : []
  })

/** Whether a pin is that of a stored block. */
export const isPinOf = (pin: Pin, block: Pick<StoredBlock, 'number' | 'hash'>): boolean => {
  const { number, mark } = pinOf(block)
  return number === pin.number && mark === pin.mark
}
