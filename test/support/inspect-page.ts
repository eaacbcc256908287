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
  readonly tooWide: boolean
  /** Violations of accessibility rules with the impact `serious` or `critical`: the rule and the first elements. */
  readonly violations: readonly string[]
}

/** The colour schemes of the pages. */
export const schemes = ['light', 'dark'] as const

export type Scheme = (typeof schemes)[number]

/** Shows the open page at a width in CSS pixels and in a colour scheme. */
const viewPage = async (page: Page, width: number, scheme: Scheme = 'light'): Promise<void> => {
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
  await page.setViewport({ width, height: 900 })
}

/** Opens a page at a width, and waits until it is complete. */
export const openPage = async (page: Page, url: string, width: number, scheme?: Scheme): Promise<void> => {
  await viewPage(page, width, scheme)
  await page.goto(url, { waitUntil: 'networkidle0' })
}

/** Whether an open page scrolls sideways. */
export const isTooWide = async (page: Page): Promise<boolean> =>
  Number(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')) > 0

/** Inspects an open page by all accessibility rules, or by those with the given ids. */
export const inspectPage = async (page: Page, rules?: readonly string[]): Promise<Inspection> => {
  const tooWide = await isTooWide(page)
  // Evaluated by the browser's debugger, which the content security policy of the page does not concern.
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe.source)
  const violations = await page.evaluate(
    async (only) => {
      const { axe } = globalThis as unknown as { axe: typeof import('axe-core') }
      // Without the elements that comply, which are most of a page.
      const found = await axe.run({ resultTypes: ['violations'], ...(only && { runOnly: only }) })
      return found.violations
    },
    rules && [...rules],
  )
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  return {
    tooWide,
    violations: serious.map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .slice(0, 3)
          .map(({ html }) => html.slice(0, 200))
          .join(' ')}`,
    ),
  }
}
