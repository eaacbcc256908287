import type { LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'
import { invalidField } from '../lib/errors.ts'
import type { Resolve } from './resolve.ts'

/** Longest URL of an endpoint. */
const MAX_URL = 2_000

/** Control and formatting characters and blanks. The parser of URLs would remove some of them without a word. */
const INVISIBLE = /[\p{C}\p{Z}]/u

/** A name that DNS can have (RFC 1035), with a dot at its end or without. */
const NAME = /^(?=.{1,254}$)(?:[a-z\d_-]{1,63}\.)*[a-z\d_-]{1,63}\.?$/i

/** Names of the machine itself (RFC 6761). */
const OWN_NAME = /(?:^|\.)localhost\.?$/i

/** An address that no webhook may be sent to. */
class RefusedAddress extends Error {
  override readonly name = 'RefusedAddress'
}

/** The range of addresses that a URL may lead to. */
const rangeOf = ({ protocol }: URL): string => (protocol === 'http:' ? 'loopback' : 'unicast')

/** The only public IPv6 addresses (RFC 4291, section 2.4; the registry of IANA). */
const PUBLIC_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3')

/** Whether an IP address is in a range. IPv4 addresses inside IPv6 ones count as IPv4. */
const isInRange = (address: string, range: string): boolean => {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  if (parsed.range() !== range) return false
  return range !== 'unicast' || parsed instanceof ipaddr.IPv4 || parsed.match(PUBLIC_IPV6)
}

/** The host of a URL as a literal address or a name. */
const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1')

const LOCAL_NAMES = ['localhost', '127.0.0.1', '::1']

/**
 * Parses the URL of an endpoint. Requires HTTPS, or, where `allowsLoopback`, HTTP to this machine. Throws
 * `validation_error` for another URL, one with credentials, a fragment or invisible characters, and one whose host or port
 * is never delivered to: what `checkedAddresses` decides needs the name servers.
 */
export const parseEndpointUrl = (text: string, allowsLoopback: boolean): URL => {
  const refuse = (message: string) => invalidField('url', message)
  if (text.length > MAX_URL) throw refuse(`expected at most ${MAX_URL} characters, got ${text.length}`)
  if (INVISIBLE.test(text)) throw refuse('expected a URL without blanks and control characters')
  if (!URL.canParse(text)) throw refuse('expected a URL such as https://example.com/hooks')
  const url = new URL(text)
  const host = hostOf(url)
  const isLocal = allowsLoopback && url.protocol === 'http:' && LOCAL_NAMES.includes(host)
  if (url.protocol !== 'https:' && !isLocal)
    throw refuse(`expected https, got ${url.protocol.slice(0, -1)}: HTTP is only for this machine in the sandbox`)
  if (url.username !== '' || url.password !== '') throw refuse('expected a URL without user and password')
  if (url.hash !== '') throw refuse('expected a URL without #')
  if (url.port === '0') throw refuse('expected a port from 1 to 65535, got 0')
  const isName = isIP(host) === 0
  if (isName && !NAME.test(host))
    throw refuse('expected a host name of letters, digits and hyphens, at most 63 between two dots')
  if (isName ? OWN_NAME.test(host) && !isLocal : !isInRange(host, rangeOf(url)))
    throw refuse(`${host} is not a public address: webhooks are only sent to public addresses`)
  return url
}

/**
 * The addresses of the name in a URL. Throws `RefusedAddress` unless there is one and every one is in the range of the
 * URL, and what the resolver throws.
 */
const checkedAddresses = async (
  url: URL,
  name: string,
  resolve: Resolve,
): Promise<[LookupAddress, ...LookupAddress[]]> => {
  const [first, ...others] = await resolve(name)
  if (first === undefined) throw new RefusedAddress(`${name} has no address`)
  const refused = [first, ...others].find(({ address }) => !isInRange(address, rangeOf(url)))
  // The text may be shown to integrators, who must not learn addresses of the operator's network.
  if (refused !== undefined) throw new RefusedAddress(`${name} leads to an address that is not public`)
  return [first, ...others]
}

/**
 * Throws `validation_error` when the name in the URL of an endpoint leads to an address that delivery refuses. What no
 * name server answers may be set up later.
 */
export const requirePublic = async (url: URL, resolve: Resolve): Promise<void> => {
  const host = hostOf(url)
  if (isIP(host) !== 0) return
  await checkedAddresses(url, host, resolve).catch((fault: unknown) => {
    if (fault instanceof RefusedAddress)
      throw invalidField('url', `${fault.message}: webhooks are only sent to public addresses`)
  })
}

/**
 * A `lookup` for the connection to a URL. It fails with `RefusedAddress` unless every address of the name is in the
 * range of the URL, and the connection goes to one of the addresses that were checked.
 */
export const createCheckedLookup = (url: URL, resolve: Resolve): LookupFunction => {
  return (name, { all }, callback) => {
    checkedAddresses(url, name, resolve).then(
      (found) => (all === true ? callback(null, found) : callback(null, found[0].address, found[0].family)),
      (error) => callback(error, '', 0),
    )
  }
}
