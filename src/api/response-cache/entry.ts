import type { Reached } from '../../db/changes/changes.ts'
import type { Resource } from '../../reads/cache/resources.ts'
import type { Tag } from './tags.ts'

/** A header list for Node's `writeHead`: alternating names and values. */
export type HeaderList = readonly string[]

/**
 * A body, and the encodings of it that a client has asked for. Bytes, not a string: Node would copy the string twice for
 * each response, and the heap would be fragmented by strings that live long.
 */
export type Bodies = {
  readonly identity: Buffer
  readonly gzip?: Buffer
  readonly br?: Buffer
}

/** A cached response and the tag by which it is valid. */
export type Entry = {
  readonly resource: Resource
  readonly tag: Tag
  /** The value of `ETag`. */
  readonly etag: string
  /** The route's URL template, for the log and the metrics. */
  readonly route: string
  /** The headers that are equal for all responses. */
  readonly headers: HeaderList
  /** Null when the data came from the chain: then only the tag is cached. */
  readonly bodies: Bodies | null
  /** When the body expires, as `performance.now`. */
  readonly until: number
  /** The header lists as of the newest progress of the index; null before the first hit. */
  lists: {
    readonly states: readonly (Reached | undefined)[]
    readonly notModified: HeaderList
    readonly whole: HeaderList
  } | null
}

/** Headers that differ between responses and are set for each one. */
const PER_RESPONSE =
  /^(?:x-request-id|server-timing|ratelimit-.*|x-data-source|x-block-.*|x-index-lag|content-length|content-encoding|connection|keep-alive|date|transfer-encoding)$/

/** Headers of a 304: those that may differ from the cached response, and those that a browser needs to read it. */
const IN_304 = /^(?:access-control-|vary$|etag$|cache-control$|x-transaction$)/

/** Converts a header object to a list. Headers without a value are left out. */
export const listOf = (headers: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [name, String(value)]))

const only = (list: HeaderList, isIncluded: (name: string) => boolean): string[] =>
  list.filter((_, at) => isIncluded(list[at - (at % 2)] ?? ''))

/** Returns the headers of a response that its cache entry keeps. */
export const lastingHeaders = (headers: Readonly<Record<string, unknown>>): HeaderList =>
  only(listOf(headers), (name) => !PER_RESPONSE.test(name))

/** Returns the headers of a response that its 304 repeats. */
export const notModifiedHeaders = (headers: HeaderList): HeaderList => only(headers, (name) => IN_304.test(name))
