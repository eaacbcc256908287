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

const STREAM = 'text/event-stream'

/** A parameter of a media type other than its weight, such as `charset`: both types are sent in one form only. */
const PARAMETER = /;(?!\s*q\s*=)[^;,]*/gi

const prefersStream = oncePerHeader((accept) => {
  const headers = { accept: accept.replace(PARAMETER, '') }
  return new Negotiator({ headers }).mediaTypes(['application/json', STREAM])[0] === STREAM
})

/** Whether the weights of a request's `Accept` prefer a stream. JSON is sent when it accepts neither. */
export const isStream = (accept: string | undefined): boolean => accept !== undefined && prefersStream(accept)
