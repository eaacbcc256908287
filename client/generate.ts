import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

/*
 * Writes the generated core of the client from docs/openapi.json. `--check` exits with code 1 when it is out of date.
 * The check compares a digest of everything that the core follows from, and of the core: writing it takes two seconds.
 */

const read = (path: string): string => {
  const url = new URL(path, import.meta.url)
  return existsSync(url) ? readFileSync(url, 'utf8') : ''
}

const inputs = [
  '../docs/openapi.json',
  'core.ts',
  '../node_modules/openapi-typescript/package.json',
  '../node_modules/typescript/package.json',
]
const outputs = ['src/api.generated.ts', 'src/names.generated.ts'] as const
const DIGEST = 'core.sha256'

const digest = (): string => {
  const hash = createHash('sha256')
  for (const path of [...inputs, ...outputs]) hash.update(read(path)).update('\0')
  return `${hash.digest('hex')}\n`
}

if (process.argv.includes('--check')) {
  if (read(DIGEST) !== digest()) {
    console.error('the core of the client is out of date: run npm run openapi')
    process.exitCode = 1
  }
} else {
  const { generateCore } = await import('./core.ts')
  const { types, names } = await generateCore(JSON.parse(read('../docs/openapi.json')))
  writeFileSync(new URL(outputs[0], import.meta.url), types)
  writeFileSync(new URL(outputs[1], import.meta.url), names)
  writeFileSync(new URL(DIGEST, import.meta.url), digest())
}
