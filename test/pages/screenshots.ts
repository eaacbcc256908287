import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Page } from 'puppeteer-core'
import { openApp } from '../support/app.ts'
import { startBrowser } from '../support/browser.ts'
import { explorerPages } from '../support/explorer-pages.ts'
import { inspectPage, openPage, readable, schemes, widths } from '../support/inspect-page.ts'
import '../support/known-chains.ts'

/*
 * Takes a screenshot of each page that people read, at the width of a desktop and of a phone, light and dark, and prints
 * what is wrong with it:
 *
 *     npm run screenshots -- FOLDER                              # of a service without a database and nodes
 *     npm run screenshots -- FOLDER http://127.0.0.1:3000        # of a sandbox, with the explorer
 *     npm run screenshots -- --readme http://127.0.0.1:3000      # the pictures of the README
 */

const { values, positionals } = parseArgs({ allowPositionals: true, options: { readme: { type: 'string' } } })
const [folder = 'dist/screenshots', url = values.readme] = positionals

/** The pictures of the README: the top of a page, small enough for a repository. */
const pictures = { home: explorerPages.home, event: explorerPages.event } as const

const takeReadme = async (page: Page, origin: string): Promise<void> => {
  for (const [name, path] of Object.entries(pictures)) {
    await openPage(page, `${origin}${path}`, 1280)
    const file = `docs/images/explorer-${name}.webp`
    await page.screenshot({ path: file as `${string}.webp`, type: 'webp', quality: 80 })
    console.log(file)
  }
}

const takeAll = async (page: Page, origin: string): Promise<void> => {
  await mkdir(folder, { recursive: true })
  const pages = url === undefined ? readable : { ...readable, ...explorerPages }
  for (const scheme of schemes) {
    for (const width of widths) {
      for (const [name, path] of Object.entries(pages)) {
        await openPage(page, `${origin}${path}`, width, scheme)
        const file = join(folder, `${name}-${width}-${scheme}.png`)
        await page.screenshot({ path: file as `${string}.png`, fullPage: true })
        const { tooWide, violations } = await inspectPage(page)
        const problems = [...(tooWide ? ['scrolls sideways'] : []), ...violations]
        console.log(`${file}: ${problems.length === 0 ? 'no problem' : problems.join('\n  ')}`)
        if (problems.length > 0) process.exitCode = 1
      }
    }
  }
}

const api = url === undefined ? await openApp({}) : undefined
const origin = url ?? (await api?.app.listen({ host: '127.0.0.1', port: 0 })) ?? ''
const { browser, close } = await startBrowser()
try {
  const page = await browser.newPage()
  await (values.readme === undefined ? takeAll : takeReadme)(page, origin)
} finally {
  await close()
  await api?.close()
}
