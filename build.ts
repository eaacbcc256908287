import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { buildExplorer } from './explorer/build.ts'

/*
 * Writes `dist/`: the service and its libraries in a few files that plain Node runs. Finding and compiling the
 * thousands of library files would take most of a process's start. Data files (migrations, artifacts, bundled rates,
 * the guide) are not bundled: the service reads them from their own folders.
 */

/** CommonJS libraries load Node's built-in modules with `require`, which an ES module does not have. */
const REQUIRE = `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url)`

/** The commit of the checkout; null outside of one. An image is built without its history and gets it as an argument. */
const commitOf = async (): Promise<string | null> => {
  const named = process.env.BUILD_COMMIT
  if (named) return named
  const describe = promisify(execFile)('git', ['describe', '--always', '--dirty', '--abbrev=12', '--exclude=*'])
  return describe.then(
    ({ stdout }) => stdout.trim(),
    () => null,
  )
}

const { outputFiles } = await build({
  entryPoints: ['src/cli.ts'],
  outdir: 'dist',
  write: false,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  // pg loads it only when the native driver is configured.
  external: ['pg-native'],
  banner: { js: REQUIRE },
  define: {
    __dirname: 'import.meta.dirname',
    __filename: 'import.meta.filename',
    BUILD_COMMIT: JSON.stringify(await commitOf()),
  },
  // Without white space and comments, a process keeps 5 MB less source in memory.
  minifyWhitespace: true,
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
})

await mkdir('dist', { recursive: true })
for (const { path, contents } of outputFiles) {
  // An unchanged file is not written again, because another process may be starting from it.
  const present = await readFile(path).catch(() => undefined)
  if (!present?.equals(contents)) await writeFile(path, contents)
}
await buildExplorer()
