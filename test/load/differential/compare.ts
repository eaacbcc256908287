import { z } from 'zod'
import type { Reply } from './ask.ts'

/** Headers that two APIs send alike at any block. */
const AGREED = [
  ...['content-type', 'cache-control', 'vary', 'x-data-source', 'x-stale', 'retry-after'],
  ...[
    'access-control-allow-origin',
    'access-control-expose-headers',
    'content-security-policy',
    'x-content-type-options',
  ],
]

const Part = z.looseObject({ lagSeconds: z.unknown().optional() })
const Body = z.looseObject({
  data: z.unknown(),
  meta: z.looseObject({ asOf: z.array(Part).optional(), nextCursor: z.unknown().optional() }).optional(),
})

/** The content of a reply without its block, which explains a difference between two replies. */
export type View = {
  readonly status: number
  readonly headers: string
  /** The body and its metadata. */
  readonly content: string
  /** Depends on the block too, so it is compared only at the same block. */
  readonly paging: string
  readonly etag: string | undefined
  /** The block of the content: the one in the body if it has one. */
  readonly block: string
}

const withoutLag = ({ lagSeconds, ...part }: z.output<typeof Part>): unknown => part

const cursorOf = (link: string | undefined): string | null =>
  link === undefined ? null : new URL(/^<([^>]*)>/.exec(link)?.[1] ?? '', 'http://localhost').searchParams.get('cursor')

/** A body as content, paging and block. */
const parts = (text: string, block: string) => {
  if (text === '') return { content: '', paging: '', block }
  const { data, meta, ...rest } = Body.parse({ data: null, ...JSON.parse(text) })
  const { asOf, nextCursor, ...said } = meta ?? {}
  const portfolio = z.looseObject({ chains: z.array(Part) }).safeParse(data)
  if (portfolio.success) {
    const { chains, ...own } = portfolio.data
    return { content: JSON.stringify([own, rest]), paging: '', block: JSON.stringify(chains.map(withoutLag)) }
  }
  return {
    content: JSON.stringify([data, said, rest]),
    paging: JSON.stringify(nextCursor ?? null),
    block: asOf === undefined ? block : JSON.stringify(asOf.map(withoutLag)),
  }
}

export const viewOf = ({ status, headers, body }: Reply): View => {
  const shown = Object.fromEntries(AGREED.map((name) => [name, headers[name]]))
  const own = parts(body, [headers['x-block-number'], headers['x-block-hash'], headers['x-block-timestamp']].join())
  const cursor = cursorOf(headers.link)
  return { ...own, status, headers: JSON.stringify(shown), paging: `${own.paging} ${cursor}`, etag: headers.etag }
}

/**
 * The differences between two views except for the blocks they were read at. A HEAD has no content, so its paging is
 * not compared.
 */
export const differences = (one: View, other: View, isHead: boolean): (keyof View)[] => {
  const isSameBlock = one.block === other.block
  return [
    ...(['status', 'headers', 'content', 'etag'] as const).filter((name) => one[name] !== other[name]),
    ...(isSameBlock && !isHead && one.paging !== other.paging ? (['paging'] as const) : []),
  ]
}

/** Whether two views report different blocks. */
export const isExplained = (one: View, other: View): boolean => one.etag !== other.etag || one.block !== other.block
