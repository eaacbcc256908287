import type { Schemas } from 'fx-protection-client'
import type { Page } from 'puppeteer-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAccounts } from '../../../src/sandbox/story/accounts.ts'
import { createActions } from '../../../src/sandbox/story/actions.ts'
import { startBrowser } from '../../support/browser.ts'
import { explorerPages } from '../../support/explorer-pages.ts'
import { inspectPage, isTooWide, openPage } from '../../support/inspect-page.ts'
import { eventually } from '../../support/process.ts'
import { byForm } from '../../support/repetitions.ts'
import { createWalletProvider } from '../../support/wallet-provider.ts'
import { sandbox } from './process.ts'

/** Base has an event 9 that is open, and the wallet of the journeys. */
const chainId = 8453
const event = { chainId, id: 9 } as const

let opened: Awaited<ReturnType<typeof startBrowser>>

/** What a page complained about: errors of scripts, and what its policy refused. */
const complaints: string[] = []

/** A tab of a browser that remembers nothing. */
const newTab = async (): Promise<Page> => (await opened.browser.createBrowserContext()).newPage()

const openTab = async (path: string): Promise<Page> => {
  const tab = await newTab()
  await tab.setViewport({ width: 1280, height: 900 })
  tab.on('pageerror', (error) => complaints.push(String(error)))
  tab.on('console', (message) => {
    if (message.type() === 'error' && !/status of \d/.test(message.text())) complaints.push(message.text())
  })
  tab.on('response', async (response) => {
    if (response.status() < 500) return
    const body = await response.text().catch(() => 'no body')
    complaints.push(`${response.request().method()} ${response.url()}: ${response.status()} ${body}`)
  })
  await tab.goto(`${sandbox.url}${path}`)
  return tab
}

/**
 * A control by its role and name, also inside of the sandbox's panel, once it is there. A locator alone would query the
 * accessibility tree for each frame, which takes half of a core.
 */
const control = async (tab: Page, role: string, name: string) => {
  const selector = `::-p-aria([name="${name}"][role="${role}"])`
  const isThere = async () => (await tab.$(selector).catch(() => null)) !== null
  await eventually(`the page has the ${role} "${name}"`, isThere, 60_000, 200)
  return tab.locator(selector)
}
const press = async (tab: Page, name: string, role = 'button'): Promise<void> =>
  (await control(tab, role, name)).click()
/**
 * Replaces the text of a field in one step. A locator's `fill` empties the field before it types, and a page that is
 * drawn between the two puts the old text back.
 */
const replace = (tab: Page, label: string, text: string): Promise<void> =>
  tab.$eval(
    `::-p-aria(${label})`,
    (input, value) => {
      ;(input as HTMLInputElement).value = value
      input.dispatchEvent(new InputEvent('input', { bubbles: true }))
    },
    text,
  )
const type = async (tab: Page, label: string, text: string): Promise<void> => {
  await control(tab, 'textbox', label)
  await replace(tab, label, text)
}
/** Waits until the page shows a text. A failure has what the page shows instead. */
const sees = async (tab: Page, text: string): Promise<void> => {
  try {
    await tab.locator(`::-p-text(${text})`).wait()
  } catch (cause) {
    const shown = await tab.$eval('main', (main) => main.textContent)
    throw new Error(`the page does not show "${text}" but:\n${shown}`, { cause })
  }
}

const read = async (path: string) => (await (await fetch(`${sandbox.url}${path}`)).json()).data

/** The payouts that the chart of the page shows, by rate. */
const plotted = async (tab: Page): Promise<readonly (readonly [rate: string, payout: string])[]> => {
  await tab.locator('.payoff path.line').wait()
  const points = await tab.$eval('.payoff path.line', (path) => path.getAttribute('data-points') ?? '')
  return points.split(' ').map((point) => point.split(':') as [string, string])
}

describe('the explorer', () => {
  beforeAll(async () => {
    opened = await startBrowser()
  })
  afterAll(() => opened?.close())

  describe('a wallet that announces itself (EIP-6963)', () => {
    const account = createAccounts().users[3]?.account
    if (account === undefined) throw new Error('the sandbox has no such account')

    type WalletOptions = Parameters<typeof createWalletProvider>[0]

    /** A page of an event to buy, with a wallet connected. */
    const connect = async (options: Pick<WalletOptions, 'batches' | 'atomic' | 'rejects' | 'answers'>) => {
      const wallet = createWalletProvider({ node: sandbox.rpcUrls[chainId] ?? '', account, ...options })
      const tab = await newTab()
      await tab.exposeFunction('askWallet', async (call: { readonly method: string }) => {
        try {
          return { result: await wallet.request(call as never) }
        } catch (error) {
          return { error: { code: Object(error).code ?? -32_603, message: String(Object(error).message) } }
        }
      })
      await tab.evaluateOnNewDocument(`
      const provider = { on() {}, removeListener() {}, request: async (call) => {
        const { result, error } = await window.askWallet(call)
        if (error) throw Object.assign(new Error(error.message), { code: error.code })
        return result
      } }
      const detail = Object.freeze({ provider, info: Object.freeze({ uuid: 'u', rdns: 'test.wallet', name: 'Test <b>wallet', icon: 'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg"/>' }) })
      const announce = () => window.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }))
      window.addEventListener('eip6963:requestProvider', announce)
      announce()
    `)
      await tab.goto(`${sandbox.url}/explorer/act/buy-protection?chainId=${chainId}&eventId=11`)
      await press(tab, 'Connect a wallet')
      await press(tab, 'Test <b>wallet')
      await type(tab, 'Notional in USDC', '500')
      await press(tab, 'Sign in Test <b>wallet')
      return { tab, wallet }
    }

    test('and batches gets the steps as one batch', async () => {
      const { tab, wallet } = await connect({ batches: true })
      await sees(tab, 'Done.')
      expect(wallet.requested.filter((method) => method === 'wallet_sendCalls')).toHaveLength(1)
      expect(wallet.requested).not.toContain('eth_sendTransaction')
      await tab.close()
    })

    test('and rejects is asked once, and the page explains how to go on', async () => {
      const { tab, wallet } = await connect({ rejects: true })
      await sees(tab, 'You declined the request in the wallet.')
      await control(tab, 'button', 'Try again')
      expect(wallet.requested.filter((method) => method === 'eth_sendTransaction')).toHaveLength(1)
      await tab.close()
    })

    test('and answers with an error is not shown as waiting for the user', async () => {
      const answers = { eth_sendTransaction: () => Promise.reject(new Error('Internal error')) }
      const { tab } = await connect({ answers })
      await sees(tab, 'answered with an error:')
      await sees(tab, 'whether the wallet sent the transaction all the same')
      expect(await tab.$eval('.progress', (shown) => shown.textContent)).not.toContain('Confirm in')
      // The plan comes right after the form, also on a phone.
      expect(await tab.$$('form.act-form + .plan')).toHaveLength(1)
      await tab.close()
    })
  })

  test('a quote marks the field that is wrong, and offers its terms only with a price', async () => {
    const tab = await openTab('/explorer/quote')
    const offer = 'Create an event with these terms'
    await control(tab, 'link', offer)
    for (const [label, text, problem] of [
      ['Notional', 'x', 'Expected an amount'],
      ['Cap', '0.5', 'Expected a rate above the strike.'],
      // Only the engine knows it.
      ['Expiry (UTC)', '2020-01-01T10:00', 'The expiry has passed.'],
    ] as const) {
      const field = `::-p-aria(${label})`
      const before = await tab.$eval(field, (input) => (input as HTMLInputElement).value)
      await replace(tab, label, text)
      await sees(tab, problem)
      await sees(tab, 'Correct the marked field.')
      expect(await tab.$$('.loading')).toEqual([])
      expect(await tab.$$('form button:disabled')).toHaveLength(1)
      await replace(tab, label, before)
      await control(tab, 'link', offer)
    }
    await tab.close()
  })

  test('a form shows that the API does not answer', async () => {
    const tab = await newTab()
    await tab.setRequestInterception(true)
    tab.on('request', (request) => {
      const isRead = new URL(request.url()).pathname.startsWith('/v1/')
      const body = JSON.stringify({ error: { code: 'service_unavailable', message: 'starting' } })
      void (isRead ? request.respond({ status: 503, contentType: 'application/json', body }) : request.continue())
    })
    await tab.goto(`${sandbox.url}/explorer/act/buy-protection?chainId=${chainId}&eventId=9`)
    await tab.locator('form[aria-label="Buy protection"] .problem').wait()
    expect(await tab.$$('.problem')).toHaveLength(1)
    expect(await tab.$$('.loading')).toEqual([])
    await tab.close()
  })

  /** The most of the first page without viem, compressed. */
  const BUDGET = 150_000

  test('the first page loads at most 150 KB, and viem when a wallet connects', async () => {
    const tab = await openTab('/explorer')
    await sees(tab, 'Open events')
    const sizeOf = () =>
      tab.evaluate(() =>
        performance
          .getEntriesByType('resource')
          .filter(({ name }) => name.includes('/explorer/assets/'))
          .reduce((bytes, entry) => bytes + (entry as PerformanceResourceTiming).encodedBodySize, 0),
      )
    const first = await sizeOf()
    await press(tab, 'Connect a wallet')
    await press(tab, 'Sandbox wallet')
    await tab.locator(`::-p-aria([role="button"]):not([aria-label="Connect a wallet"])`).wait()
    console.log(`explorer: the first page has ${first} bytes of ${BUDGET}, and ${await sizeOf()} with a wallet`)
    expect(first).toBeGreaterThan(10_000)
    expect(first).toBeLessThan(BUDGET)
    await tab.close()
  })

  /** Checks of a page take seconds of a core: the default form has one with a chart and tables, and one with a form. */
  const { event: eventPage, buy } = explorerPages
  const inspected = byForm<Readonly<Record<string, string>>>({ event: eventPage, buy }, explorerPages)

  /** Whether rows of a table are cut off: a person with a phone does not see what is beyond its edge. */
  const hasCutRows = (tab: Page): Promise<boolean> =>
    tab.$$eval('.scroll:has(> .rows)', (tables) => tables.some((table) => table.scrollWidth > table.clientWidth))

  test.each(Object.entries(inspected))('the page %s is readable and has no serious violation', async (name, path) => {
    const tab = await newTab()
    for (const width of byForm([390], [1280, 390])) {
      await openPage(tab, `${sandbox.url}${path}`, width)
      expect(await inspectPage(tab)).toEqual({ tooWide: false, violations: [] })
      if (width < 640) expect(await hasCutRows(tab)).toBe(false)
    }
    expect((await tab.title()) === 'FX protection', 'only the start has no title of its own').toBe(name === 'home')
    await tab.close()
  })

  test('the chart of a pool has the values of its series', async () => {
    const tab = await openTab(`/explorer/event/${chainId}/${event.id}`)
    await tab.locator('.series tr[data-time]').wait()
    const shown = await tab.$$eval('.series tr[data-time]', (rows) =>
      rows.map((row) => [
        Number(row.getAttribute('data-time')),
        ...[...row.querySelectorAll('[data-value]')].map((cell) => Number(cell.getAttribute('data-value'))),
      ]),
    )
    const path = `/v1/hedge/events/${chainId}/${event.id}/series?interval=day&metric=liquidity,maxPayout,premiums`
    type Point = {
      readonly time: number
      readonly liquidity: string
      readonly maxPayout: string
      readonly premiums: string
    }
    const points: readonly Point[] = await read(path)
    expect(points.length).toBeGreaterThan(10)
    const numbers = ({ time, liquidity, maxPayout, premiums }: Point) => [
      time,
      ...[liquidity, maxPayout, premiums].map((it) => Number(it) / 1e6),
    ]
    // The last point is as of the newest block.
    expect(shown.slice(0, -1)).toEqual(points.slice(0, -1).map(numbers))

    // The most opaque colour at its left edge, where the labels of the axis are.
    const labelColour = () =>
      tab.$eval('.series canvas', (element) => {
        const canvas = element as HTMLCanvasElement
        const { data = [] } = canvas.getContext('2d')?.getImageData(0, 0, 40, canvas.height) ?? {}
        const pixels = Array.from({ length: data.length / 4 }, (_, at) => [...data.slice(4 * at, 4 * at + 4)])
        return pixels.toSorted((a, b) => (b[3] ?? 0) - (a[3] ?? 0))[0]?.slice(0, 3)
      })
    await tab.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'light' }])
    await expect.poll(labelColour, { timeout: 10_000 }).toEqual([0x5a, 0x66, 0x75])
    await tab.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }])
    await expect.poll(labelColour, { timeout: 10_000 }).toEqual([0x9a, 0xa6, 0xb4])
    await tab.close()
  })

  test('the past prices of a quote are asked for by a button, wait for the engine, and are those of the API', async () => {
    const tab = await newTab()
    tab.on('pageerror', (error) => complaints.push(String(error)))
    await tab.setViewport({ width: 360, height: 900 })
    await tab.setRequestInterception(true)
    let asked = 0
    tab.on('request', (request) => {
      if (!request.url().endsWith('/v1/pricing/backtest')) return void request.continue()
      asked += 1
      if (asked > 1) return void request.continue()
      const message = 'the history of USD/HKD is being calibrated: retry after 2 s'
      const body = JSON.stringify({
        error: { code: 'service_unavailable', message, details: [{ path: 'pair', message }] },
      })
      void request.respond({ status: 503, headers: { 'retry-after': '2' }, contentType: 'application/json', body })
    })
    const answerOf = async (path: string) =>
      (await (await tab.waitForResponse((it) => it.url().endsWith(path) && it.ok(), { timeout: 120_000 })).json()).data
    const short = (ratio: number): string => `${Number(ratio.toPrecision(2))}`
    const quoted = answerOf('/v1/pricing/quote')
    await tab.goto(`${sandbox.url}/explorer/quote?underlying=USD/HKD&strike=7.8&payoutCap=8.1`)
    const { study } = (await quoted).breakdown
    await sees(tab, `paid ${short(study.ratio)} for each 1 of premium in ${study.dates} months`)
    await control(tab, 'button', 'Look at the past')
    expect(asked).toBe(0)

    const answer = answerOf('/v1/pricing/backtest')
    await press(tab, 'Look at the past')
    await sees(tab, 'The history of USD/HKD is being prepared')
    const { summary, series }: Schemas['Backtest'] = await answer
    await tab.locator('.years tr[data-year]').wait()
    const shown = await tab.$$eval('.years tr[data-year]', (rows) =>
      rows.map((row) => [
        Number(row.getAttribute('data-year')),
        ...[...row.querySelectorAll('[data-value]')].map((cell) => Number(cell.getAttribute('data-value'))),
      ]),
    )
    const yearOf = ({ date }: (typeof series)[number]): number => Number(date.slice(0, 4))
    const sum = (amounts: readonly (number | null)[]) =>
      Math.round(amounts.reduce<number>((all, amount) => all + (amount ?? 0), 0) * 1e6)
    const years = [...new Set(series.map(yearOf))].map((year) => {
      const months = series.filter((month) => yearOf(month) === year)
      const amounts = [sum(months.map((it) => it.premiumUsd)), sum(months.map((it) => it.payoutUsd))]
      return [year, ...amounts, months.filter((it) => it.paid !== null).length, months.filter((it) => it.paid).length]
    })
    expect(shown).toEqual(years)
    expect(shown.length).toBeGreaterThan(30)
    expect(await tab.$$('.years rect.payout')).toHaveLength(shown.length)
    await sees(tab, `(${summary.dates} months)`)
    await sees(tab, `that is ${short(summary.ratio ?? 0)} for each 1 of premium.`)
    expect(await inspectPage(tab)).toEqual({ tooWide: false, violations: [] })

    // Other terms are not asked for by themselves.
    const before = asked
    await replace(tab, 'Notional', '20000')
    await control(tab, 'button', 'Look at the past')
    await control(tab, 'link', 'Create an event with these terms')
    expect([asked, await tab.$$('.years')]).toEqual([before, []])
    await tab.close()
  })

  test('an event without past prices has the reason', async () => {
    const tab = await openTab(`/explorer/event/${chainId}/13`)
    await press(tab, 'Look at the past')
    await sees(tab, 'There are no past prices of this pair')
    await tab.goto(`${sandbox.url}/explorer/event/${chainId}/11`)
    await sees(tab, 'This event pays all or nothing.')
    await tab.close()
  })

  test('the menu of a small screen closes with Escape and with a press elsewhere', async () => {
    const tab = await newTab()
    await openPage(tab, `${sandbox.url}/explorer/no/such/page`, 390)
    const isShown = () => tab.$eval('#tabs', (tabs) => tabs.checkVisibility())
    for (const close of [() => tab.keyboard.press('Escape'), () => press(tab, 'Connect a wallet')]) {
      await press(tab, 'Menu')
      expect(await isShown()).toBe(true)
      await close()
      expect(await isShown()).toBe(false)
    }
    await tab.close()
  })

  test('the page of an event shows nothing of the one before it while the API does not answer', async () => {
    const tab = await openTab(`/explorer/event/${chainId}/${event.id}`)
    await control(tab, 'link', 'Buy protection')
    await tab.setRequestInterception(true)
    tab.on('request', (request) => {
      if (new URL(request.url()).searchParams.get('ids') !== '2') void request.continue()
    })
    await tab.evaluate((path) => history.pushState(null, '', path), `/explorer/event/${chainId}/2`)
    await tab.locator('main [aria-label="Loading"]').wait()
    expect(await tab.$$eval('main h1, main a.button', (found) => found.length)).toBe(0)
    await tab.close()
  })

  test('names on the chain stay text, and change no other text', async () => {
    const [chain] = (await read('/v1/chains')).filter((it: { readonly chainId: number }) => it.chainId === chainId)
    const [creator] = createAccounts().users
    if (creator === undefined) throw new Error('the sandbox has no users')
    const actions = createActions({
      chainId,
      rpcUrl: sandbox.rpcUrls[chainId] ?? '',
      diamond: chain.diamond,
      tokens: [],
    })
    const name = `"><img src=x onerror=alert(1)>\u202E${'W'.repeat(40)}`
    const { eventId } = await actions.createEvent(creator, {
      ...{ name, underlying: '<b>/<i>', strike: 2_000_000n, payoutCap: 3_000_000n, strikeAbove: true },
      ...{ premiumRate: 20_000n, initialRate: 1_900_000n, expiry: (await actions.now()) + 90 * 86_400 },
      ...{ allowExternalLp: true, initialLiquidity: 1_000_000_000n, paymentToken: chain.usdc },
    })
    const shown = `"><img src=x onerror=alert(1)>${'W'.repeat(30)}…`
    const tab = await newTab()
    tab.on('dialog', () => complaints.push('a script of a name ran'))
    for (const path of [`/explorer/event/${chainId}/${eventId}`, '/explorer/events']) {
      await openPage(tab, `${sandbox.url}${path}`, 390)
      await tab.waitForFunction((text) => document.body.textContent.includes(text), {}, shown)
      expect(await tab.$$eval('img, b, i', (found) => found.length)).toBe(0)
      expect(await isTooWide(tab)).toBe(false)
    }
    await tab.close()
  })

  // The last test of this sandbox before it stops: it moves the time of a chain by weeks.
  test('a newcomer finds an event, buys, settles, claims, and downloads the activity', async () => {
    const tab = await openTab('/')
    await tab.locator('main a[href="./explorer/"]').click()
    await tab.locator(`a[href$="/event/${chainId}/${event.id}"]`).click()
    await sees(tab, 'Pays if USD/MXN is above 19.2')

    const notional = 10_000_000_000n
    for (const [rate, payout] of await plotted(tab)) {
      const path = `/v1/hedge/quote-payout/${chainId}/${event.id}?hypoSettlement=${rate}&notional=${notional}`
      expect(payout, `the payout at ${rate}`).toBe(await read(path))
    }

    await press(tab, 'Connect a wallet')
    await press(tab, 'Sandbox wallet')
    await press(tab, 'Buy protection', 'link')
    await type(tab, 'Notional in USDC', '1,000')
    await press(tab, 'Sign in Sandbox wallet')
    const bought = await tab.locator('.progress a[href*="/position/"]').waitHandle()
    const positionId = Number((await bought.evaluate((link) => link.getAttribute('href')))?.split('/').at(-1))
    const path = `/v1/hedge/positions/${chainId}/${positionId}`
    expect(await read(path)).toMatchObject({ eventId: event.id, notional: '1000000000' })
    await bought.evaluate((link) => (link as HTMLElement).click())
    await sees(tab, 'active')

    // The panel follows the event of the page.
    await tab.locator('a[href$="/event/8453/9"]').click()
    await press(tab, 'Sandbox')
    await press(tab, 'Advance to its expiry')
    await control(tab, 'button', 'Settle')
    await type(tab, 'Settlement rate', '20')
    await press(tab, 'Settle')
    await sees(tab, 'it pays out')
    await press(tab, 'Sandbox')

    const { hedger } = await read(path)
    await tab.goto(`${sandbox.url}/explorer/position/${chainId}/${positionId}`)
    await tab.locator(`a[href*="/act/claim-payout"]`).click()
    await press(tab, 'Sign in Sandbox wallet')
    await sees(tab, 'Done.')
    expect(await read(path)).toMatchObject({ claimed: true, statusText: 'claimed' })

    await tab.goto(`${sandbox.url}/explorer/wallet/${hedger}`)
    await sees(tab, 'Payout claimed')
    const file = await tab.$eval('a[href*="/v1/activity"][href*="csv"]', (link) => (link as HTMLAnchorElement).href)
    const rows = (await (await fetch(file)).text()).split('\n')
    expect(rows.some((row) => row.includes('payout.claimed') && row.includes(String(positionId)))).toBe(true)
    await tab.close()
  })

  test('no page had an error of a script, and none broke its policy', () => {
    expect(complaints).toEqual([])
  })
})
