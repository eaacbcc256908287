import { existsSync, statfsSync } from 'node:fs'

const MEMORY = '/dev/shm'

/** Far more than the temporary files of a run have, in bytes. */
const ROOM = 8 * 2 ** 30

/**
 * Keeps the temporary files of a run in memory where there is room for them, unless `TMPDIR` is set. A database has some
 * hundred files: on a disk their creation takes ten times the processor time.
 */
export const keepTemporaryFilesInMemory = (): void => {
  if (process.env.TMPDIR !== undefined || !existsSync(MEMORY)) return
  const { bavail, bsize } = statfsSync(MEMORY)
  if (bavail * bsize >= ROOM) process.env.TMPDIR = MEMORY
}
