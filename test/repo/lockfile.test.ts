import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { z } from 'zod'

const Lockfile = z.object({
  packages: z.record(z.string(), z.object({ optionalDependencies: z.record(z.string(), z.string()).optional() })),
})

const { packages } = Lockfile.parse(
  JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')),
)

/** The folders in which Node searches the dependencies of the package at `path`, nearest first. */
const reachable = (path: string): string[] => {
  const parent = path.lastIndexOf('node_modules/')
  const inside = path === '' ? 'node_modules/' : `${path}/node_modules/`
  return parent === -1 ? [inside] : [inside, ...reachable(path.slice(0, Math.max(0, parent - 1)))]
}

/** `npm ci` installs only what is listed, so a binary for another platform that is left out is missing there. */
test('every optional dependency of every package is in the lock file, for whatever platform it is', () => {
  const optional = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).map((name) => ({ path, name })),
  )
  expect(optional.length).toBeGreaterThan(0)
  const absent = optional.filter(({ path, name }) => !reachable(path).some((folder) => `${folder}${name}` in packages))
  expect(absent).toEqual([])
})
