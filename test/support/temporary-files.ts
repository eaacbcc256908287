import { existsSync, readFileSync, statfsSync } from 'node:fs'

const MOUNTS = '/proc/mounts'
const MEMORY = '/dev/shm'

/** Far more than the temporary files of a run have, in bytes. */
const ROOM = 8 * 2 ** 30

/** Whether there is memory for files, from which programs can run: the binaries of PostgreSQL may be copied there. */
const hasMemory = (): boolean => {
  const mounts = existsSync(MOUNTS) ? readFileSync(MOUNTS, 'utf8').split('\n') : []
  const mount = mounts.find((line) => line.split(' ')[1] === MEMORY)
  if (mount === undefined || /\bnoexec\b/.test(mount)) return false
  const { bavail, bsize } = statfsSync(MEMORY)
  return bavail * bsize >= ROOM
}

/**
 * Keeps the temporary files of a run in memory where there is room for them, unless `TMPDIR` is set. A database has some
 * hundred files: on a disk their creation takes ten times the processor time.
 */
export const keepTemporaryFilesInMemory = (): void => {
  if (process.env.TMPDIR === undefined && hasMemory()) process.env.TMPDIR = MEMORY
}
