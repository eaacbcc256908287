import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { z } from 'zod'

const Lockfile = z.object({
  packages: z.record(z.string(), z.object({ optionalDependencies: z.record(z.string(), z.string()).optional() })),
})

/** The folders in which Node searches the dependencies of the package at `path`, nearest first. */
const reachable = (path: string): string[] => {
  const parent = path.lastIndexOf('node_modules/')
  const inside = path === '' ? 'node_modules/' : `${path}/node_modules/`
  return parent === -1 ? [inside] : [inside, ...reachable(path.slice(0, Math.max(0, parent - 1)))]
}

/** `npm ci` installs only what is listed, so a binary for another platform that is left out is missing there. */
test.each(['package-lock.json', 'test/generators/package-lock.json'])(
  'every optional dependency of every package is in %s, for whatever platform it is',
  (path) => {
    const { packages } = Lockfile.parse(JSON.parse(readFileSync(path, 'utf8')))
    const optional = Object.entries(packages).flatMap(([at, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).map((name) => ({ path: at, name })),
    )
    expect(optional.length).toBeGreaterThan(0)
    const absent = optional.filter((it) => !reachable(it.path).some((folder) => `${folder}${it.name}` in packages))
    expect(absent).toEqual([])
  },
)
