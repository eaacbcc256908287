import axe from 'axe-core'
import type { Page } from 'puppeteer-core'

/** Widths in CSS pixels: a desktop and a phone. */
export const widths = [1280, 390] as const

/** The pages that people read, by the names of their screenshots. */
export const readable = {
  landing: '/',
  guide: '/v1/docs/guide/quick-start',
  money: '/v1/docs/guide/money',
  glossary: '/v1/docs/glossary',
  prices: '/v1/docs/pricing',
  reference: '/v1/docs',
  operation: '/v1/docs/operations/planBuyProtection',
  list: '/v1/docs/operations/getHedgeEvents',
  missing: '/v1/docs/none',
} as const

/** What is wrong with a page for its readers. */
type Inspection = {
  /** Whether the page scrolls sideways. */
  readonly tooWide: boolean
  /** Violations of accessibility rules with the impact `serious` or `critical`: the rule and the first elements. */
  readonly violations: readonly string[]
}

/** The colour schemes of the pages. */
export const schemes = ['light', 'dark'] as const

/** Opens a page at a width, and waits until it is complete. */
export const openPage = async (
  page: Page,
  url: string,
  width: number,
  scheme: (typeof schemes)[number] = 'light',
): Promise<void> => {
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
  await page.setViewport({ width, height: 900 })
  await page.goto(url, { waitUntil: 'networkidle0' })
}

export const inspectPage = async (page: Page): Promise<Inspection> => {
  const excess = Number(
    await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'),
  )
  // Evaluated by the browser's debugger, which the content security policy of the page does not concern.
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run())
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  return {
    tooWide: excess > 0,
    violations: serious.map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .slice(0, 3)
          .map(({ html }) => html.slice(0, 200))
          .join(' ')}`,
    ),
  }
}
