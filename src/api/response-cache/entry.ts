import type { Reached } from '../../db/changes.ts'
import type { Resource } from '../../reads/changes.ts'
import type { Tag } from './tags.ts'

/** A header list as Node's `writeHead` takes it: names and values in turn. */
export type HeaderList = readonly string[]

/** A body in the encodings it is kept in; the compressed ones are made when it is asked for again. */
export type Bodies = {
  /** A text, because Node writes head and body together then. */
  readonly identity: string
  readonly bytes: number
  readonly gzip?: Buffer
  readonly br?: Buffer
}

/** What was answered at a URL, and the tag under which it holds. */
export type Entry = {
  readonly resource: Resource
  readonly tag: Tag
  /** The tag as `ETag` shows it. */
  readonly etag: string
  /** The template of the route, for the log and the metrics. */
  readonly route: string
  /** The headers that stay the same from answer to answer. */
  readonly headers: HeaderList
  /** Null where only the chain can answer again. */
  readonly bodies: Bodies | null
  /** When the body is too old to be sent again, as `performance.now`. */
  readonly until: number
  /** Requests that were answered with the body. */
  hits: number
  /** The header lists as of the newest state of the index. */
  lists: Lists | null
}

export type Lists = {
  readonly states: readonly (Reached | undefined)[]
  readonly notModified: HeaderList
  readonly whole: HeaderList
}

/** Headers that belong to one answer: written anew for each. */
const CHANGING =
  /^(?:x-request-id|server-timing|ratelimit-.*|x-data-source|x-block-.*|x-index-lag|content-length|content-encoding|connection|keep-alive|date|transfer-encoding)$/

/** A client that has the body has its headers too. A 304 repeats what may differ, and what lets a browser read it. */
const REPEATED = /^(?:access-control-|vary$|etag$|cache-control$|deprecation$|sunset$)/

/** A header object as a list; what has no value is left out. */
export const listOf = (headers: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [name, String(value)]))

const only = (list: HeaderList, isKept: (name: string) => boolean): string[] =>
  list.filter((_, at) => isKept(list[at - (at % 2)] ?? ''))

/** Of an answer's headers those that an entry keeps. */
export const lastingHeaders = (headers: Readonly<Record<string, unknown>>): HeaderList =>
  only(listOf(headers), (name) => !CHANGING.test(name))

/** Of an answer's headers those that its 304 repeats. */
export const notModifiedHeaders = (headers: HeaderList): HeaderList => only(headers, (name) => REPEATED.test(name))
