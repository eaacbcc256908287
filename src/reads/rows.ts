import { LRUCache } from 'lru-cache'
import { type Address, getAddress, type Hex } from 'viem'
import type { Kind } from '../db/progress.ts'
import { blanks, type Inclusion, UNIT } from '../db/row-text.ts'
import { isUnavailable } from '../lib/errors.ts'
import { type ChainId, chainIds } from '../protocol/chains.ts'
import { profiles } from '../protocol/profiles.ts'
import * as record from '../protocol/records.ts'
import { fromChain } from './entity.ts'
import { chainOf, type Sources } from './read.ts'
import * as subject from './subjects.ts'

/** Checksums kept: each takes a hash, and the same wallets come again and again. */
const checksums = new LRUCache<string, Address>({ max: 65_536 })

const checksummed = (hex: string): Address => {
  const known = checksums.get(hex)
  if (known !== undefined) return known
  const address = getAddress(`0x${hex}`)
  checksums.set(hex, address)
  return address
}

const chainIdOf = (text: string): ChainId => {
  const chainId = chainIds.find((known) => String(known) === text)
  if (chainId === undefined) throw new RangeError(`the index has rows of chain ${text}`)
  return chainId
}

const capacityOf = (sources: Sources, given: string): string => {
  const [chain = '', status, poolOpen, expiryDate = '', time = '', ...rest] = given.split(',')
  const [strike = '', payoutCap = '', initialRate = '', above, free = ''] = rest
  const { profile } = chainOf(sources, chainIdOf(chain)).deployment
  const capacity = profiles[profile].capacity({
    core: { status: Number(status), poolOpen: poolOpen === 't', expiryDate: BigInt(expiryDate) },
    time: BigInt(time),
    utilization: { availableCapacity: BigInt(free) },
    range: {
      strike: BigInt(strike),
      payoutCap: BigInt(payoutCap),
      initialRate: BigInt(initialRate),
      strikeAbove: above === 't',
    },
  })
  return capacity.toString()
}

/** Fills one blank; null when a token is not known yet. */
const fill = (sources: Sources, blank: string): string | null => {
  const given = blank.slice(1)
  switch (blank[0]) {
    case blanks.account:
      return checksummed(given)
    case blanks.text:
      return JSON.stringify(Buffer.from(given, 'hex').toString('utf8'))
    case blanks.capacity:
      return capacityOf(sources, given)
    case blanks.token:
      return sources.lists.tokens.members(given) ?? null
    default:
      throw new RangeError(`a row has a blank ${blank}`)
  }
}

/** A row with its blanks filled; null when one cannot be filled without asking. */
const filled = (sources: Sources, text: string): string | null => {
  const parts = text.split(UNIT)
  // The first part is the row's head, which is for whoever asked for it.
  let whole = parts[1] ?? ''
  for (let at = 2; at < parts.length; at += 2) {
    const part = fill(sources, parts[at] ?? '')
    if (part === null) return null
    whole += part + (parts[at + 1] ?? '')
  }
  return whole
}

type Asked = { readonly kind: Kind; readonly include: readonly Inclusion[] }

/** A row that the index knows of and has not seen yet, from the chain; null when it is not there any more. */
const read = async (sources: Sources, { kind, include }: Asked, given: string): Promise<string | null> => {
  const [chain = '', id, eventId, block, tx] = given.split(',')
  const chainId = chainIdOf(chain)
  const { profile } = chainOf(sources, chainId).deployment
  const event = await fromChain(sources, subject.event, { chainId, id: Number(eventId) }, undefined, (views, time) => ({
    ...views,
    time,
  }))
  if ('missing' in event) return null
  const own = {
    event: async () => ({ data: record.eventCore(event.data) }),
    deposit: () =>
      fromChain(sources, subject.deposit, { chainId, id: Number(id) }, undefined, (views) =>
        record.deposit(views.deposit, views.pending),
      ),
    position: () =>
      fromChain(sources, subject.position, { chainId, id: Number(id) }, undefined, (views) =>
        record.position(views.position),
      ),
  }
  const found = await own[kind]()
  if ('missing' in found) return null
  const joined = {
    stats: () => record.eventStats(event.data.stats),
    utilization: () => record.utilization(event.data, profiles[profile]),
    range: () => record.eventRange(event.data.range),
  }
  const createdTx: Hex | null = tx ? `0x${tx}` : null
  return JSON.stringify({
    ...found.data,
    chainId,
    createdBlock: Number(block),
    createdTx,
    ...(await sources.lists.tokens.ask(chainId, event.data.paymentToken)),
    ...Object.fromEntries(include.map((name) => [name, joined[name]()])),
  })
}

/** What a row that is not observed yet is to be read by; null for any other. */
const unobservedOf = (text: string): string | null => {
  const at = text.indexOf(UNIT)
  return text.startsWith(UNIT + blanks.unobserved, at + 1) ? text.slice(at + 3, -1) : null
}

/** Fills a row's blanks and asks the chain for what that takes. */
const asked = async (sources: Sources, of: Asked, text: string): Promise<string | null> => {
  const unobserved = unobservedOf(text)
  if (unobserved !== null) return read(sources, of, unobserved)
  for (const part of text.split(UNIT).filter((_, at) => at > 0 && at % 2 === 0)) {
    if (part[0] !== blanks.token) continue
    const [chain = '', hex = ''] = part.slice(1).split(',')
    await sources.lists.tokens.ask(chainIdOf(chain), `0x${hex}`)
  }
  return filled(sources, text)
}

/**
 * Rows as JSON, of their texts (`row-text.ts`), and whether the index alone gave them: null for what left the chain meanwhile. A row that is not observed yet is read from the chain;
 * when no node is in reach, `unread` is told of it and the row is null, and without `unread` that is thrown.
 */
export const rowsOf = async (
  sources: Sources,
  of: Asked,
  texts: readonly string[],
  unread?: (at: number) => void,
): Promise<{ readonly rows: (string | null)[]; readonly isIndexed: boolean }> => {
  const known = texts.map((text) => (unobservedOf(text) === null ? filled(sources, text) : null))
  if (!known.includes(null)) return { rows: known, isIndexed: true }
  const rows = await Promise.all(
    known.map(async (row, at) => {
      if (row !== null) return row
      try {
        return await asked(sources, of, texts[at] ?? '')
      } catch (fault) {
        if (unread === undefined || !isUnavailable(fault)) throw fault
        unread(at)
        return null
      }
    }),
  )
  return { rows, isIndexed: false }
}
