import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { hostileBodies } from '../bodies.ts'
import { type AttackSeries, json, pick } from './attack-series.ts'
import type { Orders } from './messages.ts'
import type { Attack } from './send.ts'

/** Steps through a long list so that even a short session uses all of its parts. */
const STRIDE = 1_009

export const bodies = ({ targets }: Orders): AttackSeries => {
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

export const encodings = ({ targets }: Orders): AttackSeries => {
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
      // One body has no end, one arrives a character at a time. A chunked body can be read only once, so each is built
      // for its request.
      if (turn % 8 === 0) return { method: 'POST', path, headers: json, body: chunks('[1,'.repeat(20_000), 400, 5) }
      if (turn % 8 === 1) return { method: 'POST', path, headers: json, body: chunks('[', 200, 100) }
      return { method: 'POST', path, ...pick(kinds, turn) }
    },
  }
}

export const pricing = ({ diamond, wallet }: Orders): AttackSeries => {
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
      // The days differ each time, so that no two quotes have the same answer.
      const body = { ...sound, expiryUnixSeconds: now + 86_400 * (1 + (turn % 300)), ...pick(changes, turn) }
      return { method: 'POST', path: '/v1/pricing/quote', headers: json, body: JSON.stringify(body) }
    },
  }
}
