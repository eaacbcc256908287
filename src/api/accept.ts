import { LRUCache } from 'lru-cache'
import Negotiator from 'negotiator'

/** Longest header whose result is kept, and the number of them. Clients send few different ones, and short ones. */
const MAX_HEADER_LENGTH = 200
const MAX_HEADERS = 100

/** Makes a function of a header that parses each short one once. */
export const oncePerHeader = <T extends {}>(parse: (header: string) => T): ((header: string) => T) => {
  const parsed = new LRUCache<string, T>({ max: MAX_HEADERS })
  return (header) => {
    const known = parsed.get(header)
    if (known !== undefined) return known
    const result = parse(header)
    if (header.length <= MAX_HEADER_LENGTH) parsed.set(header, result)
    return result
  }
}

/** A parameter of a media type other than its weight, such as `charset`: both types are sent in one form only. */
const PARAMETER = /;(?!\s*q\s*=)[^;,]*/gi

/** Makes the function that returns whether the weights of an `Accept` prefer a type. JSON is sent when it accepts neither. */
const prefers = (type: string): ((accept: string | undefined) => boolean) => {
  const isPreferred = oncePerHeader((accept) => {
    const headers = { accept: accept.replace(PARAMETER, '') }
    return new Negotiator({ headers }).mediaTypes(['application/json', type])[0] === type
  })
  return (accept) => accept !== undefined && isPreferred(accept)
}

/** Whether a request prefers a stream to JSON. */
export const isStream = prefers('text/event-stream')

/** Whether a request prefers CSV to JSON. */
export const prefersCsv = prefers('text/csv')

/** Whether a request prefers a page to JSON, as browsers do. */
export const prefersHtml = prefers('text/html')
