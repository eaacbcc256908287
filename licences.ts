import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { z } from 'zod'

/*
 * Lists what the service is shipped with and under which licences, in docs/licences.md; `--check` compares instead of writing. Exit code 1
 * for a licence that is not among those allowed, and for a list that is not as it would be written. Reads what is installed.
 */

const ALLOWED: readonly string[] = [
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'PostgreSQL',
  'Python-2.0',
  'Unlicense',
]

const FILE = new URL('docs/licences.md', import.meta.url)

const Lock = z.object({
  packages: z.record(
    z.string(),
    z.object({
      dev: z.boolean().optional(),
      devOptional: z.boolean().optional(),
      os: z.array(z.string()).optional(),
      cpu: z.array(z.string()).optional(),
    }),
  ),
})

const Installed = z.object({
  name: z.string(),
  version: z.string(),
  license: z.union([z.string(), z.object({ type: z.string() }).transform(({ type }) => type)]).optional(),
})

const read = (path: string): unknown => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))

/** `(MIT OR GPL-2.0)` leaves the choice; `MIT AND ISC` does not. */
const isAllowed = (licence: string): boolean =>
  licence
    .replace(/[()]/g, '')
    .split(' OR ')
    .some((choice) => choice.split(' AND ').every((each) => ALLOWED.includes(each.trim())))

// Binaries of a platform have the licence of the package that asks for them, and another machine has others.
const shipped = Object.entries(Lock.parse(read('package-lock.json')).packages)
  .filter(([path, { dev, devOptional, os, cpu }]) => path !== '' && !dev && !devOptional && !os && !cpu)
  .map(([path]) => `${path}/package.json`)
  .filter((path) => existsSync(new URL(path, import.meta.url)))
  .map((path) => Installed.parse(read(path)))

const rows = shipped.map(({ name, version, license = 'none' }) => [name, version, license] as const)
const heads = ['package', 'version', 'licence'] as const
const widths = heads.map((head, at) => Math.max(head.length, ...rows.map((row) => row[at]?.length ?? 0)))
const line = (cells: readonly string[]): string =>
  `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`

const text = [
  '# Licences',
  '',
  'What the service is shipped with; written by `npm run licences`.',
  '',
  line(heads),
  line(widths.map((width) => '-'.repeat(width))),
  ...[...new Set(rows.map(line))].sort(),
  '',
].join('\n')

const faults = shipped
  .filter(({ license = 'none' }) => !isAllowed(license))
  .map(({ name, version, license }) => `${name} ${version} has the licence ${license ?? 'none'}, which is not allowed`)
if (!process.argv.includes('--check')) writeFileSync(FILE, text)
else if (!existsSync(FILE) || readFileSync(FILE, 'utf8') !== text) {
  faults.push('docs/licences.md is not the list of what is installed: run npm run licences')
}
for (const fault of faults) process.stderr.write(`${fault}\n`)
if (faults.length > 0) process.exitCode = 1
