import { randomBytes } from 'node:crypto'
import { questionsOf } from '../mix.ts'
import { type AttackSeries, hex, json, long, pick } from './attack-series.ts'
import { bodies, encodings, pricing } from './body-series.ts'
import type { Orders } from './messages.ts'

const urls = ({ wallet }: Orders): AttackSeries => {
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
      // Node accepts 16 KiB of request line and headers. One of the two is long.
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

const cache = ({ wallet }: Orders): AttackSeries => {
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

const waits: AttackSeries = {
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

const streams: AttackSeries = {
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

const identity: AttackSeries = {
  ...{ perSecond: 40, atOnce: 200 },
  attack: (turn) => ({
    path: '/v1/me',
    headers: { authorization: `Bearer ${turn % 20 === 0 ? 'x'.repeat(10_000) : randomBytes(24).toString('hex')}` },
  }),
}

/** Requests that make the service send requests to its nodes, including the hostile ones. */
const reads = ({ wallet }: Orders): AttackSeries => {
  const questions = [8453, 56].flatMap((chainId) => questionsOf({ chainId, eventId: 1, wallet }))
  return {
    ...{ perSecond: 30, atOnce: 20 },
    attack: (turn) => {
      const { method, path, body } = pick(questions, turn)
      return { method, path, ...(body && { headers: json, body: JSON.stringify(body) }) }
    },
  }
}

/** Every series that speaks HTTP, by name. */
export const httpSeries = (orders: Orders): Readonly<Record<string, AttackSeries>> => ({
  ...{ bodies: bodies(orders), encodings: encodings(orders), urls: urls(orders), cache: cache(orders), waits, streams },
  ...{ identity, pricing: pricing(orders), reads: reads(orders) },
})
