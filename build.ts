import { rm } from 'node:fs/promises'
import { build } from 'esbuild'

/*
 * Writes `dist/`: the service for a plain Node, with its libraries, because finding and compiling their thousands of files is nearly all
 * that a start costs. What is read and not run (migrations, artifacts, bundled rates, the reference page) stays where it is.
 */

/** Libraries in CommonJS ask for Node's own modules by `require`, and where they are, by names which an ES module does not have. */
const REQUIRE = `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url)`

await rm('dist', { recursive: true, force: true })
await build({
  entryPoints: ['src/cli.ts'],
  outdir: 'dist',
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
