import { execFileSync, spawnSync } from 'node:child_process'
import { OperatorError } from '../../lib/errors.ts'

/** A user and group to run a child as. */
export type SystemUser = { readonly uid: number; readonly gid: number }

const idOf = (flag: '-u' | '-g', name: string): number => Number(execFileSync('id', [flag, name], { stdio: 'pipe' }))

/**
 * The system user that runs PostgreSQL, which refuses to run as root: `postgres` where that user exists, otherwise
 * `nobody`. Undefined for an ordinary user, who runs PostgreSQL as itself. No user is created, because the sandbox
 * leaves nothing behind and /etc/passwd would keep it.
 */
export const unprivilegedUser = (): SystemUser | undefined => {
  if (process.getuid?.() !== 0) return undefined
  for (const name of ['postgres', 'nobody']) {
    try {
      return { uid: idOf('-u', name), gid: idOf('-g', name) }
    } catch {
      // This user does not exist: try the next one.
    }
  }
  throw new OperatorError(
    'PostgreSQL cannot run as root and there is no account for it: create one (useradd --system postgres)',
  )
}

/** True when the user may enter the directory, or execute the file, at a path, including every parent directory. */
export const canReach = (path: string, user: SystemUser | undefined): boolean =>
  spawnSync('/bin/sh', ['-c', 'test -x "$1"', 'sh', path], { cwd: '/', stdio: 'ignore', ...user }).status === 0
