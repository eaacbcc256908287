import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { openApp } from '../support/app.ts'
import { startBrowser } from '../support/browser.ts'
import { inspectPage, openPage, readable, widths } from '../support/inspect-page.ts'
import '../support/known-chains.ts'

/*
 * Takes a screenshot of each page that people read, at the width of a desktop and of a phone, and prints what is wrong
 * with it:
 *
 *     npm run screenshots -- FOLDER     # of a service without a database and nodes
 *     npm run screenshots -- FOLDER http://127.0.0.1:3000
 */

const [folder = 'dist/screenshots', url] = process.argv.slice(2)
await mkdir(folder, { recursive: true })
const api = url === undefined ? await openApp({}) : undefined
const origin = url ?? (await api?.app.listen({ host: '127.0.0.1', port: 0 }))
const { browser, close } = await startBrowser()
try {
  const page = await browser.newPage()
  for (const width of widths) {
    for (const [name, path] of Object.entries(readable)) {
      await openPage(page, `${origin}${path}`, width)
      const file = join(folder, `${name}-${width}.png`)
      await page.screenshot({ path: file as `${string}.png`, fullPage: true })
      const { tooWide, violations } = await inspectPage(page)
      const problems = [...(tooWide ? ['scrolls sideways'] : []), ...violations]
      console.log(`${file}: ${problems.length === 0 ? 'no problem' : problems.join('\n  ')}`)
      if (problems.length > 0) process.exitCode = 1
    }
  }
} finally {
  await close()
  await api?.close()
}
