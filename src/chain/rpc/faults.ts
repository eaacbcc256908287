import { z } from 'zod'

/** Capabilities that not every node has: logs, the tags `safe` and `finalized`, calls at a block hash. */
export type Capability = 'logs' | 'tags' | 'pinned'

/** The kind of an error, by which failover, ranking and log width decide. */
export type Fault =
  /** The range of blocks is too wide; the node may state how many blocks are `usable`. */
  | { readonly kind: 'range'; readonly usable: bigint | null }
  /** The result is too big, whatever the width; `usable` as above, for this range alone. */
  | { readonly kind: 'size'; readonly usable: bigint | null }
  /** The node lacks a capability, so a smaller request does not help; null when the text does not name it. */
  | { readonly kind: 'capability'; readonly missing: Capability | null }
  /** The batch as a whole was refused; the node may state that it accepts `most` requests. */
  | { readonly kind: 'batch'; readonly most: number | null }
  /** A rate limit; the node may state how many milliseconds to wait. */
  | { readonly kind: 'rate'; readonly retryAfterMs: number | null }
  /** The node does not have the block, or not yet. */
  | { readonly kind: 'missing' }
  /** The node has dropped old blocks: it has logs only from some later block on. */
  | { readonly kind: 'pruned' }
  /** The node or its gateway timed out. */
  | { readonly kind: 'unanswered' }
  /** Not an answer to the request: an HTML page, half a body, another id. */
  | { readonly kind: 'garbage' }
  /** The request itself is at fault, or the text is unknown. */
  | { readonly kind: 'other' }

/** An error as it was received. Unknown fields are left out. */
export type Refusal = {
  readonly status?: number
  readonly retryAfter?: string | undefined
  readonly code?: number
  readonly message: string
  readonly data?: unknown
}

/** Words in the order in which they occur in a text, with anything between them. */
type Words = readonly string[]

type Row = {
  readonly kind: Exclude<Fault['kind'], 'garbage' | 'other'>
  /** Its group is a number that the text states. No gap as `.*`: a text can be made on which matching takes seconds. */
  readonly is?: RegExp
  /** One of these, in lower case; the number that the text states is the first one after them. */
  readonly has?: readonly Words[]
  readonly codes?: readonly number[]
  readonly missing?: Capability
}

const noLogs = ['disabled', 'not exist', 'not available', 'not supported', 'not allowed', 'not enabled']

/*
 * Texts of public providers, the first that fits decides. Limits on how often come first, since they must never narrow
 * a range, and a result's size before the widths that such a text mentions. A code alone decides only where no provider
 * uses it for something else.
 */
const rows: readonly Row[] = [
  { kind: 'batch', has: [['batch size'], ['batch limit']] },
  { kind: 'batch', is: /batch of more than (\d[\d,]*k?) requests/i },
  { kind: 'batch', has: ['too large', 'not allowed', 'not supported'].map((refused) => ['batch', refused]) },
  { kind: 'batch', is: /too many requests in (?:a |the )?batch/i },

  { kind: 'rate', is: /\brate.?limit|too many requests|requests limited to|compute units|exceeded the quota/i },
  { kind: 'rate', is: /daily request count exceeded|timeout on (?:the )?free ?tier/i, codes: [429, -32_029] },

  { kind: 'capability', is: /(?:safe|finalized|pending) block not found/i, missing: 'tags' },
  { kind: 'capability', is: /(?:safe|finalized|pending)\W+is not a supported/i, missing: 'tags' },
  // The seed nodes of chain 56 say this to a single block.
  { kind: 'capability', is: /^limit exceeded\.?$/i, missing: 'logs' },
  { kind: 'capability', is: /specify an address in your request/i, missing: 'logs' },
  { kind: 'capability', has: noLogs.map((refused) => ['eth_getlogs', refused]), missing: 'logs' },
  { kind: 'capability', is: /cannot unmarshal object into Go value of type string/i, missing: 'pinned' },
  { kind: 'capability', is: /method not (?:found|supported|available)/i, codes: [-32_601] },
  // The state that a call overrides is its third argument.
  { kind: 'capability', is: /too many arguments, want at most/i },

  { kind: 'size', is: /response size (?:exceeded|should not)|(?:response|result) (?:is )?too (?:big|large)/i },
  { kind: 'size', has: [['query returned more than'], ['more than ', ' logs returned'], ['exceeds max results']] },
  { kind: 'size', is: /query must be smaller than size|logs matched by query exceeds/i },

  { kind: 'range', is: /up to an? (\d[\d,]*k?) block range/i },
  { kind: 'range', is: /limited to (?:an? )?(?:0 - )?(\d[\d,]*k?)/i },
  { kind: 'range', is: /ranges over (\d[\d,]*k?) blocks are not supported/i },
  { kind: 'range', is: /exceeds the range allowed for your plan \([\d,]+ > (\d[\d,]*k?)\)/i },
  { kind: 'range', is: /max(?:imum)? block range[:= ]+(\d[\d,]*k?)/i },
  { kind: 'range', is: /maximum allowed is (\d[\d,]*k?) blocks/i },
  {
    kind: 'range',
    has: [
      ['too many blocks from ', 'maximum is set to '],
      ['blocks distance: '],
      ['range exceeds server limit, narrow your filter: '],
      ['allowed number of requested blocks is '],
      ['max range: '],
      ['limit the query to at most '],
      ['range is too large, max is '],
      ['too wide blocks range, the limit is '],
      ['block range greater than '],
      ['block range exceeds '],
    ],
  },
  { kind: 'range', is: /block range (?:is )?too (?:wide|large)|block range limit exceeded/i },

  { kind: 'pruned', is: /pruned history unavailable/i, codes: [4444] },

  { kind: 'missing', is: /extends beyond current head|invalid block range params|not currently canonical/i },
  { kind: 'missing', is: /header not found|unknown block|block not found|could not find block|resource not found/i },
  { kind: 'missing', is: /block is out of range|invalid block height/i, codes: [-32_019, -39_001] },
  { kind: 'missing', is: /cannot query unfinalized data|after last accepted block/i },
  // The state of an old block, which nodes drop.
  { kind: 'missing', is: /missing trie node|no state (?:found|available)/i },
  { kind: 'missing', has: ['not available', 'unavailable', 'is pruned'].map((gone) => ['state ', gone]) },

  { kind: 'unanswered', is: /timed out|query timeout|unable to complete request/i },
  { kind: 'unanswered', is: /no backend is currently healthy/i },
]

/** The text after the last of the words; null when they do not all occur in this order. */
const restAfter = (text: string, words: Words): string | null => {
  let at = 0
  for (const word of words) {
    const found = text.indexOf(word, at)
    if (found === -1) return null
    at = found + word.length
  }
  return text.slice(at)
}

/** The number that a text states, if it matches the row; null when it does not match. */
const matchOf = (
  { is, has = [] }: Row,
  text: string,
  lowerCased: string,
): { readonly stated: string | undefined } | null => {
  const match = is?.exec(text)
  if (match) return { stated: match[1] }
  const rest = has.map((words) => restAfter(lowerCased, words)).find((each) => each !== null)
  return rest === undefined ? null : { stated: /\d[\d,]*k?/.exec(rest)?.[0] }
}

const rowOf = ({ code, message }: Refusal): { readonly row: Row; readonly stated: string | undefined } | undefined => {
  const lowerCased = message.toLowerCase()
  for (const row of rows) {
    const match = matchOf(row, message, lowerCased)
    if (match !== null) return { row, ...match }
  }
  // Texts go before codes: providers reuse each other's codes.
  const row = rows.find(({ codes }) => code !== undefined && codes?.includes(code))
  return row && { row, stated: undefined }
}

/** `10,000` and `10k` as numbers; null for anything that is not a safe integer. */
const toNumber = (stated: string | undefined): number | null => {
  const count = Number(stated?.replaceAll(',', '').replace(/k$/i, '000'))
  return Number.isSafeInteger(count) ? count : null
}

const toWidth = (stated: string | undefined): bigint | null => {
  const count = toNumber(stated)
  return count === null || count < 1 ? null : BigInt(count)
}

const Height = z
  .string()
  .max(66)
  .regex(/^0x[\da-f]+$/i)
const Suggested = z.object({ from: Height, to: Height })

/**
 * The width of a range that a refusal suggests, in words or as data; null without one, and for one that ends before it
 * begins.
 */
const suggestedWidth = ({ message, data }: Refusal): bigint | null => {
  const inWords = /\[(0x[\da-f]+),\s*(0x[\da-f]+)\]|range (\d+)-(\d+)/i.exec(message)
  const asData = Suggested.safeParse(data)
  const first = inWords?.[1] ?? inWords?.[3] ?? asData.data?.from
  const last = inWords?.[2] ?? inWords?.[4] ?? asData.data?.to
  if (first === undefined || last === undefined) return null
  const width = BigInt(last) - BigInt(first) + 1n
  return width > 0n ? width : null
}

/** `Retry-After` in milliseconds: it is seconds or a date. */
const waitOf = (header: string | undefined): number | null => {
  if (header === undefined) return null
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now()
  return Number.isFinite(ms) && ms >= 0 ? ms : null
}

/** HTTP statuses of a gateway that timed out or has no working node. */
const GAVE_UP: readonly number[] = [408, 502, 503, 504, 522, 524]

/**
 * Classifies a refusal. A revert is never the node's fault, whatever text the contract returned. The patterns are the
 * rows above; a test checks each against a recorded body.
 *
 * @example
 * classify({ code: -32_614, message: 'eth_getLogs is limited to a 10,000 range' })
 * // { kind: 'range', usable: 10_000n }
 */
export const classify = (refusal: Refusal): Fault => {
  const { status, code, message } = refusal
  if (code === 3 || /^execution reverted/i.test(message)) return { kind: 'other' }
  if (status === 429) return { kind: 'rate', retryAfterMs: waitOf(refusal.retryAfter) }
  if (status === 413) return { kind: 'batch', most: null }
  const found = rowOf(refusal)
  if (found === undefined)
    return status !== undefined && GAVE_UP.includes(status) ? { kind: 'unanswered' } : { kind: 'other' }
  const { row, stated } = found
  switch (row.kind) {
    case 'range':
      return { kind: 'range', usable: toWidth(stated) }
    case 'size':
      return { kind: 'size', usable: suggestedWidth(refusal) }
    case 'batch':
      return { kind: 'batch', most: toNumber(stated) }
    case 'capability':
      return { kind: 'capability', missing: row.missing ?? null }
    case 'rate':
      return { kind: 'rate', retryAfterMs: waitOf(refusal.retryAfter) }
    default:
      return { kind: row.kind }
  }
}

const ofNodes: readonly Fault['kind'][] = ['capability', 'rate', 'missing', 'pruned', 'unanswered', 'garbage']

/** True when another node, or the same one later, may answer the same request. */
export const isNodeFault = ({ kind }: Fault): boolean => ofNodes.includes(kind)
