import { execFileSync, spawnSync } from 'node:child_process'
import { OperatorError } from '../lib/errors.ts'

/** A user and group to run a child as. */
export type Account = { readonly uid: number; readonly gid: number }

const look = (flag: '-u' | '-g', name: string): number => Number(execFileSync('id', [flag, name], { stdio: 'pipe' }))

/**
 * PostgreSQL refuses to run as root, so as root it runs as `postgres` where that account exists and as `nobody` elsewhere; for an
 * ordinary user undefined: as that user. No account is created: a sandbox that says it leaves nothing behind does not edit /etc/passwd.
 */
export const unprivilegedAccount = (): Account | undefined => {
  if (process.getuid?.() !== 0) return undefined
  for (const name of ['postgres', 'nobody']) {
    try {
      return { uid: look('-u', name), gid: look('-g', name) }
    } catch {
      // No such account here: the next one.
    }
  }
  throw new OperatorError(
    'running as root, PostgreSQL needs an account of its own: create one (useradd --system postgres)',
  )
}

/** True when the account may enter a directory, or execute a file, at the end of every directory on the way to it. */
export const canReach = (path: string, account: Account | undefined): boolean =>
  spawnSync('/bin/sh', ['-c', 'test -x "$1"', 'sh', path], { cwd: '/', stdio: 'ignore', ...account }).status === 0
