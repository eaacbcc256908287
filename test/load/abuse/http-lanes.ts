import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { hostileBodies } from '../bodies.ts'
import { questionsOf } from '../mix.ts'
import type { Orders } from './messages.ts'
import type { Attack } from './send.ts'

/** The attack at each turn, sent so many times a second and so many at once at most. */
export type Lane = {
  readonly perSecond: number
  readonly atOnce: number
  readonly attack: (turn: number) => Attack
}

const json = { 'content-type': 'application/json' }
const pick = <T>(list: readonly T[], turn: number): T => {
  const item = list[turn % list.length]
  if (item === undefined) throw new RangeError('an empty list of attacks')
  return item
}
const hex = (bytes: number): string => `0x${randomBytes(bytes).toString('hex')}`

/** Steps through a long list so that a short session meets all of its parts too. */
const STRIDE = 1_009

const bodies = ({ targets }: Orders): Lane => {
  const all = targets.flatMap(hostileBodies)
  return {
    ...{ perSecond: 5, atOnce: 4 },
    attack: (turn) => {
      const { route, body } = pick(all, turn * STRIDE)
      return { method: 'POST', path: route, headers: json, body: body() }
    },
  }
}

async function* chunks(part: string, times: number, everyMs: number) {
  for (let at = 0; at < times; at += 1) {
    yield part
    await sleep(everyMs)
  }
}

const encodings = ({ targets }: Orders): Lane => {
  const bomb = Buffer.alloc(10_485_760, ' ')
  const packed = { gzip: gzipSync(bomb), deflate: deflateSync(bomb), br: brotliCompressSync(bomb) }
  const types = [
    'text/plain',
    'application/xml',
    'application/json; charset=utf-16',
    'x'.repeat(8_000),
    '',
    'multipart/form-data',
  ]
  const kinds: readonly Omit<Attack, 'path'>[] = [
    ...Object.entries(packed).map(([name, body]) => ({ headers: { ...json, 'content-encoding': name }, body })),
    ...types.map((type) => ({ headers: { 'content-type': type }, body: '{}' })),
    { headers: json, body: '' },
    { headers: json, body: randomBytes(4_096) },
    { headers: { ...json, 'content-length': '1000000000' }, body: '{' },
    { headers: { ...json, 'content-length': '60000' }, body: '{', leaveAfterMs: 3_000 },
  ]
  return {
    ...{ perSecond: 5, atOnce: 60 },
    attack: (turn) => {
      const { route: path } = pick(targets, turn * 7)
      // One has no end, one comes a character at a time; a body in chunks is read once, so each is made anew.
      if (turn % 8 === 0) return { method: 'POST', path, headers: json, body: chunks('[1,'.repeat(20_000), 400, 5) }
      if (turn % 8 === 1) return { method: 'POST', path, headers: json, body: chunks('[', 200, 100) }
      return { method: 'POST', path, ...pick(kinds, turn) }
    },
  }
}

const MAX_URL = 15_000
const long = (part: string, bytes = MAX_URL): string => part.repeat(Math.floor(bytes / part.length))

const urls = ({ wallet }: Orders): Lane => {
  const paths = [
    ...[
      'events',
      'positions',
      'deposits',
      'settlements',
      'fees',
      'events/8453/1',
      'events/56/1/positions',
      'paused/8453',
    ].map((name) => `/v1/hedge/${name}`),
    `/v1/wallets/${wallet}/portfolio`,
    ...['/v1/chains', '/v1/governance/facets', '/v1/oracle/submissions/8453/1', '/status', '/readyz', '/v1/changelog'],
  ]
  const queries = [
    `?${long('n')}=1`,
    `?chainId=${long('8')}`,
    `?${long('a=1&')}`,
    `?${long('chainId=8453&')}`,
    `?${Array.from({ length: 1_500 }, (_, at) => `k${at}=1`).join('&')}`,
    `?chainId=8453&ids=${long('1,')}1`,
    `?chainId=8453&ids=${long('9')}`,
    `?chainId=8453&ids=${Array.from({ length: 100 }, (_, at) => at + 1).join()}`,
    `?chainId=8453&cursor=${long('A')}`,
    `?chainId=8453&cursor=${Buffer.from('[[[[[["1"').toString('base64url')}`,
    `?chainId=8453&include=${long('stats,')}`,
    `?chainId=8453&underlying=${long('%F0%9F%98%80')}`,
    `?chainId=8453&minBlock=${long('9')}&waitMs=1`,
    ...[
      '?__proto__=1&constructor[prototype]=1',
      `?${long('%')}`,
      `?${long('%00')}`,
      `?a=${long('%C0%AF')}`,
      '?chainId=8453#x',
      '#',
    ],
    `/${long('../')}`,
    `/${long('%2e%2e%2f')}`,
    `/${long('9')}`,
  ]
  const headers: readonly Readonly<Record<string, string>>[] = [
    {},
    { 'if-none-match': long('"a", ', 12_000) },
    { 'if-none-match': long('W/', 12_000) },
    { 'if-none-match': `"${long('\\', 12_000)}` },
    { 'if-none-match': long(' ,', 12_000) },
    { accept: long('text/event-stream;q=0.1,', 12_000) },
    { 'accept-encoding': long('gzip;q=0,', 12_000) },
    { range: `bytes=${long('0-1,', 10_000)}`, origin: long('x', 1_000) },
    { authorization: `Bearer ${long(' ', 8_000)}`, cookie: long('a=b; ', 4_000) },
  ]
  const methods = ['GET', 'GET', 'HEAD', 'OPTIONS', 'PUT'] as const
  return {
    ...{ perSecond: 40, atOnce: 8 },
    attack: (turn) => {
      // Node takes 16 KiB of request line and headers: one of both is long.
      const isTall = turn % 2 === 0
      const query = isTall ? '' : pick(queries, (turn - 1) / 2)
      return {
        method: pick(methods, turn),
        path: pick(paths, turn) + query,
        headers: isTall ? pick(headers, turn / 2) : {},
      }
    },
  }
}

const cache = ({ wallet }: Orders): Lane => {
  const paths = [
    (): string => `/v1/hedge/events?chainId=8453&limit=100&_=${hex(8)}`,
    (): string => `/v1/hedge/positions?chainId=8453&wallet=${hex(20)}`,
    (turn: number): string => `/v1/hedge/deposits?chainId=8453&limit=${1 + (turn % 100)}&eventId=${turn}`,
    (): string => `/v1/wallets/${hex(20)}/portfolio`,
    (turn: number): string => `/v1/hedge/events?chainId=8453&expiryFrom=${turn}`,
    (turn: number): string => `/v1/hedge/quote-payout/8453/1?hypoSettlement=${turn}&notional=1000000`,
    (turn: number): string => `/v1/wallets/${wallet}/portfolio?_=${turn}`,
  ]
  return { perSecond: 60, atOnce: 8, attack: (turn) => ({ path: pick(paths, turn)(turn) }) }
}

const waits: Lane = {
  ...{ perSecond: 60, atOnce: 300 },
  attack: (turn) => {
    const wanted =
      turn % 3 === 0 ? 'minBlock=999999999' : `afterTx=${turn % 3 === 1 ? hex(32) : `0x${'ab'.repeat(32)}`}`
    const path = pick(
      ['/v1/hedge/events?chainId=8453&', '/v1/hedge/events/8453/1?', '/v1/hedge/fees?chainId=56&'],
      Math.floor(turn / 3),
    )
    return { path: `${path}${wanted}&waitMs=10000`, ...(turn % 2 === 0 && { leaveAfterMs: turn % 500 }) }
  },
}

const streams: Lane = {
  ...{ perSecond: 20, atOnce: 200 },
  attack: (turn) => {
    const resumed = [long('9', 8_000), '\u00ff\u00fe', '-1', '{"a":1}', hex(32)]
    const last = turn % 2 === 0 ? { 'last-event-id': pick(resumed, turn) } : {}
    return {
      method: turn % 5 === 0 ? 'HEAD' : 'GET',
      path: pick(
        ['/v1/hedge/settlements?chainId=8453&since=now', '/v1/hedge/settlements?chainId=8453', '/v1/hedge/settlements'],
        turn,
      ),
      headers: { accept: 'text/event-stream', ...last },
      ...{ leaveAfterMs: turn % 3 === 0 ? 100 : 8_000, readEveryMs: 1_000 },
    }
  },
}

const identity: Lane = {
  ...{ perSecond: 40, atOnce: 200 },
  attack: (turn) => ({
    path: '/v1/me',
    headers: { authorization: `Bearer ${turn % 20 === 0 ? 'x'.repeat(10_000) : randomBytes(24).toString('hex')}` },
  }),
}

const pricing = ({ diamond, wallet }: Orders): Lane => {
  const now = Math.floor(Date.now() / 1_000)
  const sound = { pair: 'USD/GHS', strike: 12, payoutCap: 13.5, notional: 10_000, strikeAbove: true }
  const signed = { chainId: 8453, diamondAddress: diamond, creator: wallet }
  const changes: readonly object[] = [
    {},
    signed,
    { payoutCap: 12.000001 },
    { payoutCap: 1e9, notional: 1e9, strike: 1e-6 },
    { strike: 1e-6, payoutCap: 2e-6 },
    { expiryUnixSeconds: now + 1 },
    { expiryUnixSeconds: Number.MAX_SAFE_INTEGER },
    { expiryUnixSeconds: now - 1 },
    { notional: 5e-324 },
    { strikeAbove: false, payoutCap: 1 },
    { pair: 'AAA/BBB' },
    { pair: 'USD/USD' },
    { ...signed, diamondAddress: wallet },
  ]
  return {
    ...{ perSecond: 15, atOnce: 10 },
    attack: (turn) => {
      // Other days each time: the answer to one quote is not that to the next.
      const body = { ...sound, expiryUnixSeconds: now + 86_400 * (1 + (turn % 300)), ...pick(changes, turn) }
      return { method: 'POST', path: '/v1/pricing/quote', headers: json, body: JSON.stringify(body) }
    },
  }
}

/** What keeps the service asking its nodes, the hostile ones too. */
const reads = ({ wallet }: Orders): Lane => {
  const questions = [8453, 56].flatMap((chainId) => questionsOf({ chainId, eventId: 1, wallet }))
  return {
    ...{ perSecond: 30, atOnce: 20 },
    attack: (turn) => {
      const { method, path, body } = pick(questions, turn)
      return { method, path, ...(body && { headers: json, body: JSON.stringify(body) }) }
    },
  }
}

/** Every lane that speaks HTTP, by name. */
export const httpLanes = (orders: Orders): Readonly<Record<string, Lane>> => ({
  ...{ bodies: bodies(orders), encodings: encodings(orders), urls: urls(orders), cache: cache(orders), waits, streams },
  ...{ identity, pricing: pricing(orders), reads: reads(orders) },
})
