import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'

const CHUNK = 65_536
const MIB = 1_048_576

/**
 * The shortest interval between two long answers, in milliseconds, because the node shares the machine with the
 * product.
 */
const LONG_EVERY_MS = 1_000

type Kind = {
  /** Longer than a mebibyte. */
  readonly isLong?: boolean
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly parts: (ids: readonly number[]) => Iterable<string | Buffer> | AsyncIterable<string | Buffer>
}

/** `part` repeated up to a number of bytes, from one buffer. */
function* fill(part: string, bytes: number) {
  const chunk = Buffer.from(part.repeat(Math.ceil(CHUNK / part.length)))
  for (let sent = 0; sent < bytes; sent += chunk.length) yield chunk
}

/** A batch of answers, each with `part` repeated between `open` and `close`, of a given total size in bytes. */
const filled = (open: string, part: string, close: string, bytes: number): Kind => ({
  isLong: bytes > MIB,
  *parts(ids) {
    for (const [at, id] of ids.entries()) {
      yield `${at === 0 ? '[' : ','}{"jsonrpc":"2.0","id":${id},${open}`
      yield* fill(part, bytes / ids.length)
      yield `${close}}`
    }
    yield ']'
  },
})

const errorOf = (part: string, bytes: number): Kind => filled('"error":{"code":-32000,"message":"', part, '"}', bytes)

/** Just below and exactly the most bytes that the product reads of an answer to one request. */
const READ = 0.9 * MIB
const REFUSED = 15 * MIB

/** Repeated beginnings, without an end, of the texts that patterns over error messages search for. */
const baits = [
  'batch ',
  'eth_getLogs ',
  'state ',
  'contains 1 filters ',
  'block range ',
  'limit ',
  ' '.repeat(8),
  '0x1 ',
]

const answers = (result: string, idOf = (id: number): unknown => id): Kind => ({
  parts: (ids) => [`[${ids.map((id) => `{"jsonrpc":"2.0","id":${JSON.stringify(idOf(id))},"result":${result}}`)}]`],
})

async function* drip() {
  for (let at = 0; at < 50; at += 1) {
    yield '['
    await sleep(100)
  }
}

const kinds: Readonly<Record<string, Kind>> = {
  ...Object.fromEntries(baits.map((bait) => [`an error of "${bait}"`, errorOf(bait, READ)])),
  'an error of 15 MiB': errorOf('x', REFUSED),
  'an error of 15 MiB of bait': errorOf('batch ', REFUSED),
  'an error of escapes': errorOf('\\u0001', READ),
  'lists in lists': { isLong: true, parts: () => fill('[', REFUSED) },
  'objects in objects': { isLong: true, parts: () => fill('{"a":', REFUSED) },
  'few lists in lists': filled('"result":', '[', '1', READ),
  'a list of 15 MiB': filled('"result":[1', ',1', ']', REFUSED),
  'a list of lists': filled('"result":[[]', ',[]', ']', READ),
  'long hex': filled('"result":"0x', `${'00'.repeat(31)}20`, '"', READ),
  'long hex of ones': filled('"result":"0x', 'ff', '"', READ),
  'an endless answer': { isLong: true, parts: () => fill(' ', 64 * MIB) },
  'a dripping answer': { parts: drip },
  garbage: { parts: () => [randomBytes(CHUNK)] },
  'no JSON': { status: 200, parts: () => ['<html>', ...fill('<p>limit</p>', READ), '</html>'] },
  'a long refusal': { status: 429, headers: { 'retry-after': '1' }, parts: () => fill('rate limit ', READ) },
  'a long failure': { status: 500, parts: () => fill('state ', READ) },
  'wrong ids': answers('"0x1"', (id) => id + 1_000_000),
  'ids that are texts': answers('"0x1"', (id) => 'x'.repeat(id % 1_000)),
  'the same id': answers('"0x1"', () => 1),
  'results of nothing': answers('null'),
  'results of objects': answers('{"__proto__":{"number":"0x1"}}'),
  'results of numbers': answers('1e308'),
  'lengths without end': answers(`"0x${'00'.repeat(31)}20${'ff'.repeat(32)}${'00'.repeat(64)}"`),
  'hex that is none': answers('"0xzz"'),
}

const long = Object.entries(kinds).filter(([, { isLong }]) => isLong)
const short = Object.entries(kinds).filter(([, { isLong }]) => !isLong)

const idsOf = (body: string): { readonly ids: number[]; readonly isProbe: boolean } => {
  const calls: { readonly id: number; readonly method: string }[] = [JSON.parse(body)].flat()
  return { ids: calls.map(({ id }) => id), isProbe: calls.some(({ method }) => method === 'eth_chainId') }
}

/**
 * A node that serves its chain from an honest one. After `attack` it answers most requests with data that harms a
 * careless reader. It answers most probes honestly, because otherwise it would get no other requests.
 */
export const startHostileNode = async (honest: string) => {
  const counts = new Map<string, number>()
  let isHostile = false
  let asked = 0
  let [sentLong, sentShort, lastLong] = [0, 0, Number.NEGATIVE_INFINITY]

  const choose = (): readonly [string, Kind] => {
    const isLong = performance.now() - lastLong >= LONG_EVERY_MS
    if (isLong) lastLong = performance.now()
    const list = isLong ? long : short
    const found = list[(isLong ? sentLong : sentShort) % list.length]
    if (found === undefined) throw new RangeError('no such kind')
    if (isLong) sentLong += 1
    else sentShort += 1
    return found
  }

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request)
    const { ids, isProbe } = idsOf(body)
    asked += 1
    if (!isHostile || asked % (isProbe ? 4 : 2) !== 0) {
      counts.set('honest', (counts.get('honest') ?? 0) + 1)
      const said = await fetch(honest, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
      return void response.end(await said.text())
    }
    const [name, { status = 200, headers = {}, parts }] = choose()
    counts.set(name, (counts.get(name) ?? 0) + 1)
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    await pipeline(Readable.from(parts(ids)), response)
  }

  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    // The reader disconnects, or the honest node does not answer.
    answer(request, response).catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the node has no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    attack(): void {
      isHostile = true
    },
    counts: (): ReadonlyMap<string, number> => counts,
  }
}
