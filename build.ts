import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { build } from 'esbuild'

/*
 * Writes `dist/`: the service for a plain Node, with its libraries, because finding and compiling their thousands of files is nearly all
 * that a start costs. What is read and not run (migrations, artifacts, bundled rates, the reference page) stays where it is.
 */

/** Libraries in CommonJS ask for Node's own modules by `require`, which an ES module does not have. */
const REQUIRE = `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url)`

const { outputFiles } = await build({
  entryPoints: ['src/cli.ts'],
  outdir: 'dist',
  write: false,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  // pg asks for it only where somebody wants the native driver.
  external: ['pg-native'],
  banner: { js: REQUIRE },
  define: { __dirname: 'import.meta.dirname', __filename: 'import.meta.filename' },
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
})

await mkdir('dist', { recursive: true })
for (const { path, contents } of outputFiles) {
  // A file that is right stays untouched: another process may be starting from it.
  const present = await readFile(path).catch(() => undefined)
  if (!present?.equals(contents)) await writeFile(path, contents)
}
