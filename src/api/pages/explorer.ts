import { readdir, readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { packaged } from '../../lib/root.ts'

/** In a sandbox, the address of its controls. `folder`: where the files are, for tests. */
export type ExplorerOptions = { readonly sandboxUrl: string | null; readonly folder?: URL }

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
}

const suffixes = { br: '.br', gzip: '.gz', identity: '' } as const

/** The files of the explorer, as `npm run build` wrote them. */
export type Explorer = {
  /** The page that loads the others; `{service}` stands for the relative URL of the service. */
  readonly page: string
  /** The media type of a file by its name; undefined when there is no such file. */
  readonly typeOf: (name: string) => string | undefined
  readonly read: (name: string, encoding: keyof typeof suffixes) => Promise<Buffer>
}

/** Reads the explorer of this build. Null without a build. */
export const readExplorer = async (folder = packaged('dist/explorer/')): Promise<Explorer | null> => {
  const page = await readFile(new URL('index.html', folder), 'utf8').catch(() => null)
  if (page === null) return null
  const assets = new URL('assets/', folder)
  const names = new Set(await readdir(assets))
  return {
    page,
    typeOf: (name) => (names.has(name) ? types[extname(name)] : undefined),
    read: (name, encoding) => readFile(new URL(`${name}${suffixes[encoding]}`, assets)),
  }
}

/** The scripts, requests and frames of the explorer: only of this service, and of the controls of its sandbox. */
export const explorerPolicy = (sandboxUrl: string | null): string =>
  [
    "default-src 'none'",
    "style-src 'self'",
    `script-src 'self'${sandboxUrl === null ? '' : ` ${sandboxUrl}`}`,
    `connect-src 'self'${sandboxUrl === null ? '' : ` ${sandboxUrl}`}`,
    // Wallets announce themselves with an icon of this kind.
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
