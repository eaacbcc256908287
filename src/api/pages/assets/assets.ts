import { readFile } from 'node:fs/promises'
import { packaged } from '../../../lib/root.ts'
import { createAsset } from '../../asset.ts'
import { CONSOLE_SCRIPT } from '../docs/console.ts'
import type { Shell } from '../html.ts'

const SCRIPT = 'text/javascript; charset=utf-8'

const read = async (...names: readonly string[]): Promise<Buffer> =>
  Buffer.concat(await Promise.all(names.map((name) => readFile(packaged(`src/api/pages/assets/${name}`)))))

/** What every page loads, by the name of its file. Pages request it with the hash of its content. */
export const pageAssets = {
  'pages.css': createAsset('text/css; charset=utf-8', () => read('theme.css', 'pages.css')),
  'pages.js': createAsset(SCRIPT, () => read('pages.js')),
  'live.js': createAsset(SCRIPT, () => read('live.js')),
  'console.js': createAsset(SCRIPT, () => Buffer.from(CONSOLE_SCRIPT)),
} as const

/** The URL of an asset from the root of the service. */
export const assetUrl = async (name: keyof typeof pageAssets): Promise<string> =>
  `v1/docs/${name}?v=${(await pageAssets[name]()).hash}`

/** What surrounds a page. `root` is the relative URL of the root of the service, such as `../../`. */
export const shellOf = async (root: string, explorer: boolean): Promise<Shell> => ({
  ...{ root, explorer },
  style: await assetUrl('pages.css'),
  script: await assetUrl('pages.js'),
})
