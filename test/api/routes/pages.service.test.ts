import type { Page } from 'puppeteer-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openApp } from '../../support/app.ts'
import { startBrowser } from '../../support/browser.ts'
import { byForm } from '../../support/repetitions.ts'

/* What the script of the pages adds, and that the pages are complete without it. No database and no node is in reach. */

/** A browser is slow on a small machine that also runs other tests. */
const PATIENCE_MS = 60_000

let api: Awaited<ReturnType<typeof openApp>>
let browser: Awaited<ReturnType<typeof startBrowser>>
let origin: string
let page: Page
const failures: string[] = []

beforeAll(async () => {
  ;[api, browser] = await Promise.all([openApp({}), startBrowser()])
  origin = await api.app.listen({ host: '127.0.0.1', port: 0 })
}, PATIENCE_MS)
beforeEach(async () => {
  page = await browser.browser.newPage()
  page.setDefaultTimeout(PATIENCE_MS)
  page.on('pageerror', (error) => void failures.push(String(error)))
  await page.setViewport({ width: 1_280, height: 900 })
  return async () => {
    await page.close()
    expect(failures.splice(0)).toEqual([])
  }
})
afterAll(async () => {
  await browser?.close()
  await api?.close()
})

const open = (path: string) => page.goto(`${origin}${path}`, { waitUntil: 'networkidle0' })

/** The element that has the focus, by its tag and its text. */
const focused = async (): Promise<string> =>
  String(await page.evaluate("document.activeElement.tagName + ' ' + document.activeElement.textContent"))

const search = async (text: string): Promise<readonly string[]> => {
  await page.keyboard.press('/')
  await page.keyboard.type(text)
  await page.waitForFunction(`/found|Nothing/.test(document.querySelector('.results p').textContent)`)
  await page.waitForNetworkIdle()
  return page.$$eval('.results li', (all) => all.map((it) => String(it.textContent)))
}

test('the search works with the keyboard only, and opens what it found', async () => {
  await open('/v1/docs/guide/money')
  const found = await search('seed')
  expect(found[0]).toMatch(/^seedGlossary/)
  expect(await focused()).toBe('INPUT ')
  await page.keyboard.press('ArrowDown')
  expect(await focused()).toMatch(/^A seed/)
  await page.keyboard.press('ArrowDown')
  expect(await focused()).not.toMatch(/^A seedGlossary/)
  for (let press = 0; press < 3; press += 1) await page.keyboard.press('ArrowUp')
  expect(await focused()).toBe('INPUT ')
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
  expect(page.url()).toBe(`${origin}/v1/docs/glossary#term-seed`)
})

const searches = [
  ['buy position', /^Buy a position/, '/v1/docs/operations/planBuyProtection'],
  ['idempotency xyz', undefined, ''],
  ['broadcast', /^(?=.*broadcast)/i, '/v1/docs/operations/postTxBroadcast'],
  ['/v1/wallets/', /\/v1\/wallets/, '/v1/docs/operations/'],
  ['when a quote is signed', /^When a quote is signed/, '/v1/docs/pricing#when-a-quote-is-signed'],
] as const
/** `test/api/pages/search` searches without a browser. */
test.each(searches.slice(0, byForm(2, searches.length)))(
  'the search for %j finds what it names',
  async (query, first, url) => {
    await open('/')
    const found = await search(query)
    if (first === undefined) return expect(found).toEqual([])
    expect(found.length).toBeLessThanOrEqual(12)
    expect(found[0]).toMatch(first)
    const links = await page.$$eval('.results a', (all) => all.map((it) => it.getAttribute('href')))
    expect(links.some((link) => link?.startsWith(`${origin}${url}`))).toBe(true)
  },
)

test('the search is left by Escape, and a slash in a field is a slash', async () => {
  await open('/v1/docs/operations/getHedgeEvents')
  await search('premium')
  await page.keyboard.press('Escape')
  const state = `[document.querySelector('.results').hidden, document.querySelector('search input').value].join()`
  expect(await page.evaluate(state)).toBe('true,')
  await page.focus('form input[name=underlying]')
  await page.keyboard.type('USD/GHS')
  expect(await page.$eval('form input[name=underlying]', (it) => it.getAttribute('name'))).toBe('underlying')
  expect(await page.evaluate(`document.querySelector('form input[name=underlying]').value`)).toBe('USD/GHS')
})

test('text that is searched stays text', async () => {
  await open('/v1/docs')
  expect(await search('<img src=x>')).toEqual([])
  expect(await page.$eval('.results p', (it) => it.innerHTML)).toContain('&lt;img')
})

test('code can be copied, and samples name the service that shows them', async () => {
  await browser.browser
    .defaultBrowserContext()
    .overridePermissions(origin, [...(['clipboard-read', 'clipboard-sanitized-write'] as const)])
  await open('/v1/docs/operations/getChains')
  await page.locator('.tabs .code .copy').click()
  await page.waitForFunction(`document.querySelector('.tabs .copy').textContent === 'Copied'`)
  const copied = String(await page.evaluate('navigator.clipboard.readText()'))
  expect(copied).toBe(`curl -s '${origin}/v1/chains'`)
  // The tabs are radio buttons.
  await page.focus('#sample-0')
  await page.keyboard.press('ArrowRight')
  const shown = await page.$$eval('.tabs .code', (all) => all.map((it) => it.checkVisibility()))
  expect(shown).toEqual([false, true])
})

test('fields of fields can be opened with the keyboard', async () => {
  await open('/v1/docs/operations/planBuyProtection')
  const hidden = '[id^="response-data.cost."]'
  const isShown = () => page.$eval(hidden, (it) => it.checkVisibility())
  expect(await isShown()).toBe(false)
  await page.focus('[id="response-data.cost"] summary')
  await page.keyboard.press('Enter')
  expect(await isShown()).toBe(true)
})

test('on a phone the list of pages is opened by a button and closed by Escape', async () => {
  await page.setViewport({ width: 390, height: 800 })
  await open('/v1/docs/guide/limits')
  const isShown = () => page.$eval('#contents', (it) => it.checkVisibility())
  expect(await isShown()).toBe(false)
  await page.locator('.menu').click()
  expect(await isShown()).toBe(true)
  await page.keyboard.press('Escape')
  expect(await isShown()).toBe(false)
  await page.focus('.menu')
  await page.keyboard.press('Enter')
  await Promise.all([page.waitForNavigation(), page.locator('#contents a[href$="guide/errors"]').click()])
  expect(page.url()).toBe(`${origin}/v1/docs/guide/errors`)
})

test('a table that is wider than a phone scrolls inside the page', async () => {
  await page.setViewport({ width: 390, height: 800 })
  await open('/v1/docs/guide/limits')
  const wide = `[...document.querySelectorAll('.scroll')].some((it) => it.scrollWidth > it.clientWidth)`
  const page2 = `document.documentElement.scrollWidth <= document.documentElement.clientWidth`
  expect(await page.evaluate(`[${wide}, ${page2}].join()`)).toBe('true,true')
})

test('pages are complete without scripts, and offer no search and no button that would do nothing', async () => {
  await page.setJavaScriptEnabled(false)
  await open('/v1/docs/operations/getHedgeEvents')
  const { body } = await api.app.inject('/v1/docs/operations/getHedgeEvents')
  expect(body).toContain('<search hidden>')
  expect(await page.$('.copy')).toBeNull()
  const visible = async (selector: string) => (await page.$(selector))?.isVisible()
  expect(await visible('search')).toBe(false)
  expect(await visible('#contents a[aria-current="page"]')).toBe(true)
  expect(await visible('#parameter-state')).toBe(true)
  expect(await visible('.neighbours a')).toBe(true)
})
