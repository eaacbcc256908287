import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Page } from 'puppeteer-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApp } from '../../support/app.ts'
import { startBrowser } from '../../support/browser.ts'
import { inspectPage, openPage, readable, type Scheme, schemes, widths } from '../../support/inspect-page.ts'
import { byForm } from '../../support/repetitions.ts'

/** A browser is slow on a small machine that also runs other tests. */
const PATIENCE_MS = 60_000

// No node and no database is in reach: the documentation needs neither, and neither do the requests that are sent.
let api: Awaited<ReturnType<typeof openApp>>
let browser: Awaited<ReturnType<typeof startBrowser>>
let origin: string
let page: Page
const requested: string[] = []
const complaints: string[] = []

beforeAll(async () => {
  ;[api, browser] = await Promise.all([openApp({}), startBrowser()])
  origin = await api.app.listen({ host: '127.0.0.1', port: 0 })
  page = await browser.browser.newPage()
  page.setDefaultTimeout(PATIENCE_MS)
  page.on('request', (request) => void requested.push(request.url()))
  page.on('pageerror', (error) => void complaints.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'warn') complaints.push(message.text())
  })
}, PATIENCE_MS)
afterAll(async () => {
  await browser?.close()
  await api?.close()
})

/** Opens the page of an operation, sends its form, and returns the status and the text that the page shows. */
const send = async (operationId: string, fill: Readonly<Record<string, string>> = {}) => {
  await page.goto(`${origin}/v1/docs/operations/${operationId}`)
  for (const [selector, value] of Object.entries(fill)) await page.locator(selector).fill(value)
  await page.locator('form button').click()
  await page.waitForFunction(`document.querySelector('form button').textContent === 'Send'`)
  const shown = async (selector: string) => String(await page.$eval(selector, ({ textContent }) => textContent))
  return { status: await shown('form output'), text: await shown('form pre') }
}

test('the page of an operation sends a read and shows its answer', async () => {
  const { status, text } = await send('getChains')
  expect(status).toBe('200 OK')
  expect(JSON.parse(text)).toEqual((await api.app.inject('/v1/chains')).json())
})

test('the page of an operation sends its path, its query, its body and its token', async () => {
  const cases = [
    ['getHedgeEventsStatsById', { 'select[name=chainId]': '8453', 'input[name=id]': 'x/y' }, 400, 'id'],
    ['getHedgeEvents', { 'input[name=limit]': '0' }, 400, 'limit'],
    ['buildDeposit', { textarea: '{"chainId":8453,"eventId":1,"amount":"x"}' }, 400, 'amount'],
    ['getMe', { 'input[name=token]': 'abc' }, 503, undefined],
  ] as const
  for (const [operationId, fill, code, path] of cases) {
    const { status, text } = await send(operationId, fill)
    expect([operationId, status.slice(0, 3)]).toEqual([operationId, String(code)])
    expect(JSON.parse(text).error.details?.[0].path).toBe(path)
  }
})

test('the documentation sends no request to another service, and no page fails', async () => {
  expect(requested.length).toBeGreaterThan(4)
  expect(requested.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith('data:'))).toEqual([])
  expect(complaints).toEqual([])
})

test('the documentation cannot send requests to another service', async () => {
  let reached = 0
  const outside = createServer((_, response) => {
    reached += 1
    response.setHeader('access-control-allow-origin', '*').end()
  }).listen(0, '127.0.0.1')
  await once(outside, 'listening')
  const address = outside.address()
  if (address === null || typeof address === 'string') throw new Error('the server outside has no port')
  const url = `http://127.0.0.1:${address.port}/`
  try {
    await expect(page.evaluate((it) => fetch(it).then(() => 'let through'), url)).rejects.toThrow(/fetch/)
    expect(reached).toBe(0)
    // The same call from outside a page gets there.
    await fetch(url)
    expect(reached).toBe(1)
  } finally {
    outside.close()
  }
})

/** The pages whose parts the others have too: a landing page, a guide with tables, and a form. */
const { landing, money, operation } = readable
const views = widths.flatMap((width) => schemes.map((scheme) => [width, scheme, readable] as const))
/** By default a phone, where less fits, in the light, and one page of a desktop in the dark. */
const inspected = byForm<readonly (readonly [number, Scheme, Readonly<Record<string, string>>])[]>(
  [
    [390, 'light', { landing, money, operation }],
    [1280, 'dark', { operation }],
  ],
  views,
)

test.each(inspected)(
  'at a width of %i pixels each page has no serious violation of accessibility rules in the %s scheme, and fits',
  async (width, scheme, pages) => {
    const other = await browser.browser.newPage()
    other.setDefaultTimeout(PATIENCE_MS)
    for (const path of Object.values(pages)) {
      await openPage(other, `${origin}${path}`, width, scheme)
      expect([path, await inspectPage(other)]).toEqual([path, { tooWide: false, violations: [] }])
    }
    await other.close()
  },
)

test.runIf(byForm(false, true))(
  'a first visit of every readable page together is smaller than 1 MB, and the second one is not sent again',
  async () => {
    const other = await browser.browser.newPage()
    let bytes = 0
    const statuses: number[] = []
    other.on('response', (response) => {
      if (response.fromCache()) return
      statuses.push(response.status())
      bytes += Number(response.headers()['content-length'] ?? 0)
    })
    for (const path of Object.values(readable)) await openPage(other, `${origin}${path}`, 1_280)
    expect(bytes).toBeGreaterThan(1_000)
    expect(bytes).toBeLessThan(1_000_000)
    statuses.length = 0
    await openPage(other, `${origin}${readable.reference}`, 1_280)
    expect(statuses).toEqual([304])
    await other.close()
  },
)
