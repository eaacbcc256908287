import { access, mkdir, readFile, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { type BuildOptions, build } from 'esbuild'

/*
 * Writes the explorer to `dist/explorer`: `assets/` with a hash in the name of each file, compressed, and the page
 * that loads them. Where the service is, is known when the page is requested: `{service}` stands for it.
 */

const OUT = 'dist/explorer'

/** The wallet and the controls of a sandbox, which only the sandbox serves. The image is built without them. */
const SANDBOX_OUT = 'dist/sandbox'

const common = {
  bundle: true,
  format: 'esm',
  platform: 'browser',
  target: 'es2022',
  minify: true,
  tsconfig: 'explorer/tsconfig.json',
  logLevel: 'warning',
} satisfies BuildOptions

const toBrotli = promisify(brotliCompress)
const toGzip = promisify(gzip)

const isPresent = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

const brotli = (contents: Uint8Array): Promise<Buffer> =>
  toBrotli(contents, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: contents.length },
  })

/** Writes the script of the sandbox: one file, with its styles as a text in it. */
const buildSandbox = () =>
  build({
    ...common,
    entryPoints: { sandbox: 'explorer/src/sandbox/main.tsx' },
    outdir: SANDBOX_OUT,
    loader: { '.css': 'text' },
  })

/** Writes the explorer. A file that is there already has the same content, because its name has the hash of it. */
export const buildExplorer = async (): Promise<void> => {
  await buildSandbox()
  const { outputFiles, metafile } = await build({
    ...common,
    entryPoints: { main: 'explorer/src/main.tsx', style: 'explorer/src/styles/main.css' },
    outdir: `${OUT}/assets`,
    entryNames: '[name].[hash]',
    chunkNames: '[name].[hash]',
    write: false,
    metafile: true,
    splitting: true,
  })
  await mkdir(`${OUT}/assets`, { recursive: true })
  await Promise.all(
    outputFiles.map(async ({ path, contents }) => {
      if (await isPresent(`${path}.gz`)) return
      await writeFile(path, contents)
      await writeFile(`${path}.br`, await brotli(contents))
      await writeFile(`${path}.gz`, await toGzip(contents, { level: 9 }))
    }),
  )
  const fileOf = (entry: string): string => {
    const found = Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === entry)
    if (found === undefined) throw new Error(`the build has no ${entry}`)
    return basename(found[0])
  }
  const page = await readFile('explorer/index.html', 'utf8')
  const written = page
    .replace('{style}', `{service}explorer/assets/${fileOf('explorer/src/styles/main.css')}`)
    .replace('{script}', `{service}explorer/assets/${fileOf('explorer/src/main.tsx')}`)
  // Files of other builds stay until the page is written: a page that is open may still load them.
  await writeFile(`${OUT}/index.html`, written)
}
