import { createContext, runInContext } from 'node:vm'
import { EventSourcePolyfill } from 'event-source-polyfill'
import { EventSource as Package } from 'eventsource'
import type { Page } from 'puppeteer-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test, vi } from 'vitest'
import { z } from 'zod'
import { announce } from '../../src/db/changes/changes.ts'
import { aspects, ofWallet, settlementsScope, touching } from '../../src/db/changes/scopes.ts'
import { insertSettlements } from '../../src/db/index/settlements.ts'
import type { openApp } from '../support/app.ts'
import { startBrowser } from '../support/browser.ts'
import { startGateway } from '../support/gateway.ts'
import { blocksOf } from '../support/guide.ts'
import { startIndexed } from '../support/indexing.ts'
import { eventually } from '../support/process.ts'

/** A browser is slow on a small machine that also runs other tests. */
const PATIENCE_MS = 60_000

/** Chromium takes seconds of a core, so by default the packages stand for it. */
const withBrowser = inject('form') === 'long'

let indexed: Awaited<ReturnType<typeof startIndexed>>
let api: Awaited<ReturnType<typeof openApp>>
let browser: Awaited<ReturnType<typeof startBrowser>> | undefined
let page: Page
let base: string
let gateway: Awaited<ReturnType<typeof startGateway>>

beforeAll(async () => {
  ;[indexed, browser] = await Promise.all([startIndexed([8453]), withBrowser ? startBrowser() : undefined])
  api = await indexed.open()
  base = await api.app.listen({ port: 0, host: '127.0.0.1' })
  if (browser !== undefined) page = await browser.browser.newPage()
  // The polyfill writes each failure to the console.
  vi.spyOn(console, 'error').mockImplementation(() => {})
  await indexed.quiet()
}, PATIENCE_MS)
beforeEach(async () => {
  gateway = await startGateway(base)
})
afterEach(() => gateway?.close())
afterAll(async () => {
  await browser?.close()
  await indexed?.close()
})

let eventId = 1_000
const settle = (): Promise<number> =>
  indexed.database.transaction(async (handle) => {
    eventId += 1
    const result = { settledAt: 1n, triggered: false, settlementPrice: 1n }
    const block = { blockNumber: 1n, blockHash: `0x${'22'.repeat(32)}` as const }
    const last = await announce(handle, 56, touching(settlementsScope), 1)
    await insertSettlements(handle, 56, [{ type: 'settled', eventId: BigInt(eventId), ...result, ...block }], last)
    return last
  })

const change = (): Promise<number> =>
  indexed.database.transaction((handle) => {
    const scopes = new Map([[ofWallet('0x00000000000000000000000000000000000000A1'), aspects.positions]])
    return announce(handle, 8453, { ...touching(), scopes })
  })

/** A client of a stream: the ids of what it received by name of the event, and what closes it. */
type Listener = { readonly received: () => Promise<Readonly<Record<string, string[]>>>; readonly close: () => unknown }

const names = ['position', 'settled', 'change', 'message']

const inProcess =
  (Source: typeof EventSource) =>
  async (url: string): Promise<Listener> => {
    const found: Record<string, string[]> = {}
    const source = new Source(url)
    for (const name of names)
      source.addEventListener(name, (event) => {
        found[name] = [...(found[name] ?? []), 'lastEventId' in event ? String(event.lastEventId) : '']
      })
    return { received: async () => found, close: () => source.close() }
  }

/** The same in the browser, which runs scripts as text. */
const inBrowser = async (url: string): Promise<Listener> => {
  // A page of the service may connect to its own origin only.
  await page.goto(new URL('/v1/docs', url).href)
  await page.evaluate(`
    globalThis.found = {}
    globalThis.source = new EventSource(${JSON.stringify(url)})
    for (const name of ${JSON.stringify(names)})
      source.addEventListener(name, ({ lastEventId }) => {
        found[name] = [...(found[name] ?? []), lastEventId]
      })`)
  return {
    received: async () => Received.parse(await page.evaluate('found')),
    close: () => page.evaluate('source.close()'),
  }
}

const Received = z.record(z.string(), z.array(z.string()))

const clients: readonly [string, (url: string) => Promise<Listener>][] = [
  ['eventsource', inProcess(Package as typeof EventSource)],
  ['event-source-polyfill', inProcess(EventSourcePolyfill)],
  ['Chromium', inBrowser],
]
const streams = [
  ['/v1/hedge/settlements/stream?since=now', 'settled', settle],
  ['/v1/changes/stream?types=wallet&since=now', 'change', change],
  ['/v1/changes?types=wallet&since=now', 'change', change],
] as const

/** By default each stream has one of the packages. Which one makes no difference to a stream. */
const pairs = clients.flatMap(([client, open], nth) =>
  streams
    .filter((_, at) => withBrowser || at % 2 === nth)
    .map(([path, name, act]) => [client, path, name, act, open] as const),
)

test.each(pairs)(
  '%s that is cut before the first item of %s gets what happened meanwhile',
  async (_, path, name, act, open) => {
    const listener = await open(`${gateway.url}${path}`)
    await eventually('the position', async () => (await listener.received()).position?.length === 1)
    gateway.cut()
    const seq = await act()
    gateway.restore()
    await eventually('what happened', async () => (await listener.received())[name] !== undefined)
    const { position = [], message, ...items } = await listener.received()
    // The position that it resumed from is the one that it began at: no item is in between.
    expect([new Set(position).size, message]).toEqual([1, undefined])
    expect(items[name]?.[0]?.split('.').at(-1)).toBe(String(seq))
    await listener.close()
  },
)

/** Evaluates scripts, and ends what they left open. */
type Scripts = { readonly evaluate: (script: string) => Promise<unknown>; readonly close: () => unknown }

const ofPage = async (): Promise<Scripts> => {
  await page.goto(`${gateway.url}/v1/docs`)
  return { evaluate: (script) => page.evaluate(script), close: () => page.goto('about:blank') }
}

const ofPackage = async (): Promise<Scripts> => {
  const opened: Package[] = []
  class EventSource extends Package {
    constructor(url: URL) {
      super(url)
      opened.push(this)
    }
  }
  const context = createContext({ EventSource, URL, setTimeout })
  return {
    evaluate: async (script) => runInContext(script, context),
    close() {
      for (const source of opened) source.close()
    },
  }
}

test('the code of the guide for pages goes on after a 502, from its last position', async () => {
  const code = blocksOf('docs/guide/event-source.md').find(({ kind }) => kind === 'js')?.text ?? ''
  const { evaluate, close } = await (withBrowser ? ofPage() : ofPackage())
  await evaluate(
    `globalThis.shown = []; globalThis.show = ({ eventId }) => shown.push(eventId)
    ${code.replace('http://127.0.0.1:3000', gateway.url)}`,
  )
  const requests = () => gateway.urls.filter((url) => url.startsWith('/v1/hedge/settlements/stream'))
  await eventually('the position', async () => (await evaluate('since')) !== 'now')
  gateway.cut(502)
  await settle()
  const [first = ''] = requests()
  await eventually('the refusal of the reconnect, and that of a new EventSource', () => requests().length >= 3)
  gateway.restore()
  await settle()
  await eventually('both settlements', async () => (await evaluate('shown.length')) === 2)
  expect(Array.from(Object(await evaluate('shown')))).toEqual([eventId - 1, eventId])
  expect(first).toBe('/v1/hedge/settlements/stream?since=now')
  expect(requests()[1]).toMatch(/^\/v1\/hedge\/settlements\/stream\?since=now \d+$/)
  expect(requests()[2]).toMatch(/^\/v1\/hedge\/settlements\/stream\?since=\d+$/)
  await close()
})
