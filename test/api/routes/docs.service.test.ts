import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Page } from 'puppeteer-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApp } from '../../support/app.ts'
import { startBrowser } from '../../support/browser.ts'
import { operations } from '../../support/openapi.ts'

/** A browser is slow on a small machine that also runs other tests. */
const PATIENCE_MS = 60_000

// No node and no database is in reach: the documentation needs neither, and neither does the read that is tried.
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
  await page.setViewport({ width: 1400, height: 1000 })
  page.on('request', (request) => void requested.push(request.url()))
  page.on('pageerror', (error) => void complaints.push(String(error)))
  page.on('console', (message) => {
    if (['error', 'warn'].includes(message.type())) complaints.push(message.text())
  })
  await page.goto(`${origin}/v1/docs`)
}, PATIENCE_MS)
afterAll(async () => {
  await browser?.close()
  await api?.close()
})

/** What the person in front of the page sees of an element. */
const seen = (selector: string): Promise<string> =>
  page
    .locator(selector)
    .map((it) => it.textContent ?? '')
    .wait()

test('the page of the documentation lists every operation, each with a form to try it', async () => {
  const expected = operations.map(({ method, path }) => `${method.toLowerCase()} ${path}`)
  const listed = () => page.$$eval('button.show-api-client-button', (all) => all.map(({ textContent }) => textContent))
  const tried = expected.map((operation) => `Test Request(${operation})`)
  await expect.poll(listed, { timeout: PATIENCE_MS }).toEqual(expect.arrayContaining(tried))
  expect(await listed()).toHaveLength(tried.length)
})

test('the page of the documentation sends a read and shows its answer', async () => {
  await page.locator('::-p-aria([name="Test Request (get /v1/chains)"])').click()
  const [response] = await Promise.all([
    page.waitForResponse((it) => it.url() === `${origin}/v1/chains`),
    page.locator('[role="dialog"] button.scalar-button-solid').click(),
  ])
  expect(response.status()).toBe(200)
  expect(await response.json()).toEqual((await api.app.inject('/v1/chains')).json())
  expect(await seen('[role="dialog"]')).toContain('200 OK')
})

test('the page of the documentation sends no request to another service and logs nothing', () => {
  expect(requested.length).toBeGreaterThan(4)
  expect(requested.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith('data:'))).toEqual([])
  expect(complaints).toEqual([])
})

test('the page of the documentation cannot send requests to another service', async () => {
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

test('the page of the documentation has its own content security policy, and the API has another one', async () => {
  const policy = async (url: string) => String((await api.app.inject(url)).headers['content-security-policy'])
  for (const path of ['/v1/docs', '/v1/docs/start.js', '/v1/docs/reference.js']) {
    expect(await policy(path)).toMatch(/^default-src 'none'; script-src 'self';.*connect-src 'self'/)
  }
  expect(await policy('/v1/chains')).toBe("default-src 'none';frame-ancestors 'none'")
})
