import { lookup as resolve } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'
import { invalidField } from '../lib/errors.ts'

/** Longest URL of an endpoint. */
const MAX_URL = 2_000

/** An address that no webhook may be sent to. */
class RefusedAddress extends Error {
  override readonly name = 'RefusedAddress'
}

/** The range of addresses that a URL may lead to. */
const rangeOf = ({ protocol }: URL): string => (protocol === 'http:' ? 'loopback' : 'unicast')

/** Whether an IP address is in a range. IPv4 addresses inside IPv6 ones count as IPv4. */
const isInRange = (address: string, range: string): boolean =>
  ipaddr.isValid(address) && ipaddr.process(address).range() === range

/** The host of a URL as a literal address or a name. */
const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1')

const LOCAL_NAMES = ['localhost', '127.0.0.1', '::1']

/**
 * Parses the URL of an endpoint. Requires HTTPS, or, where `allowsLoopback`, HTTP to this machine. Throws
 * `validation_error` for another URL, one with credentials or a fragment, and one whose literal address is not public.
 */
export const parseEndpointUrl = (text: string, allowsLoopback: boolean): URL => {
  const refuse = (message: string) => invalidField('url', message)
  if (text.length > MAX_URL) throw refuse(`expected at most ${MAX_URL} characters, got ${text.length}`)
  if (!URL.canParse(text)) throw refuse('expected a URL such as https://example.com/hooks')
  const url = new URL(text)
  const host = hostOf(url)
  const isLocal = allowsLoopback && url.protocol === 'http:' && LOCAL_NAMES.includes(host)
  if (url.protocol !== 'https:' && !isLocal)
    throw refuse(`expected https, got ${url.protocol}: HTTP is only for this machine in the sandbox`)
  if (url.username !== '' || url.password !== '') throw refuse('expected a URL without user and password')
  if (url.hash !== '') throw refuse('expected a URL without #')
  if (isIP(host) !== 0 && !isInRange(host, rangeOf(url)))
    throw refuse(`${host} is not a public address: webhooks are only sent to public addresses`)
  return url
}

/** How names are resolved. */
export type Resolve = typeof resolve

/**
 * A `lookup` for the connection to a URL. It fails with `RefusedAddress` unless every address of the name is in the
 * range of the URL, and the connection goes to one of the addresses that were checked.
 */
export const createCheckedLookup =
  (url: URL, resolveName: Resolve = resolve): LookupFunction =>
  (name, options, callback) => {
    resolveName(name, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, '', 0)
      const [first] = found
      if (first === undefined) return callback(new RefusedAddress(`${name} has no address`), '', 0)
      const refused = found.find(({ address }) => !isInRange(address, rangeOf(url)))
      if (refused !== undefined)
        return callback(new RefusedAddress(`${name} leads to ${refused.address}, which is not public`), '', 0)
      if (options.all === true) callback(null, found)
      else callback(null, first.address, first.family)
    })
  }
