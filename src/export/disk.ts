import { type FileHandle, open, rm } from 'node:fs/promises'
import { errorText, OperatorError } from '../lib/errors.ts'

/** Runs an operation on files. Its faults become errors that the operator can solve. */
export const onDisk = async <T>(operation: () => Promise<T>): Promise<T> => {
  try {
    return await operation()
  } catch (fault) {
    // Without a cause: the codes of faults of files look like those of a lost connection.
    throw new OperatorError(
      `a file cannot be read or written (${errorText(fault)}): check the folder of --out, its free space, and that no other export writes to it, then run the export again, which continues`,
    )
  }
}

/** Creates a file to write to, in place of any that is there: a link is removed, and not followed. */
export const createFile = async (path: string): Promise<FileHandle> => {
  await rm(path, { force: true })
  return open(path, 'wx')
}

/** A file's content or size; null when there is no such file. */
export const ifThere = <T>(reading: Promise<T>): Promise<T | null> =>
  reading.catch((fault: unknown) => {
    if (fault instanceof Error && 'code' in fault && fault.code === 'ENOENT') return null
    throw fault
  })
