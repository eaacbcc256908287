import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The newest commit of the release before rows were stored as text. */
export const BEFORE = process.env.BEFORE ?? '88f8548'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The modules of a release that a benchmark compares, with the types of this one. */
type Modules = {
  migrate: typeof import('../../src/db/migrate.ts')
  pool: typeof import('../../src/db/pool.ts')
  observations: typeof import('../../src/db/index/observations.ts')
  write: typeof import('../../src/db/index/write.ts')
}

/**
 * Opens a release: its modules, from a copy of its files that uses this one's packages. Functions whose parameters
 * changed since may get parameters that their release does not know.
 */
export const openRelease = async (commit: string | null) => {
  const folder = commit === null ? root : await mkdtemp(join(tmpdir(), 'fx-release-'))
  if (commit !== null) {
    const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 2 ** 30 })
    execFileSync('tar', ['-x', '-C', folder], { input: archive })
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  }
  const names = ['migrate', 'pool', 'observations', 'write']
  /** Releases have the modules in different folders. */
  const pathOf = (name: string): string | undefined =>
    ['', 'index'].map((part) => join(folder, 'src/db', part, `${name}.ts`)).find(existsSync)
  const modules = await Promise.all(names.map(async (name) => [name, await import(pathOf(name) ?? name)] as const))
  return {
    ...(Object.fromEntries(modules) as Modules),
    close: () => (commit === null ? Promise.resolve() : rm(folder, { recursive: true })),
  }
}

export type Release = Awaited<ReturnType<typeof openRelease>>
