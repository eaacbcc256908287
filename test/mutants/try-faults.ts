import { fork } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Task, Verdict } from './trial.ts'

/** A copy of the repository's files, in which one file at a time has a fault. */
export type Copy = { readonly folder: string; readonly remove: () => void }

/** Copies the files; installed packages are shared. */
export const createCopy = (files: readonly string[], name: string): Copy => {
  const folder = join(tmpdir(), `mutants-${process.pid}-${name}`)
  for (const file of files) {
    mkdirSync(join(folder, dirname(file)), { recursive: true })
    cpSync(file, join(folder, file))
  }
  symlinkSync(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** Longer than any run of listed tests. A fault that keeps them longer is an endless loop. */
const LONGEST_MS = 90_000

/**
 * Starts a process of `trial.ts` in the copy, and calls `onVerdict` for the run without a fault and for each fault. It
 * ends the process after `LONGEST_MS` without a verdict. Rejects with what
 * `onVerdict` throws, or with the output of a process that ends early by itself.
 */
const startTrial = (copy: Copy, task: Task, databaseUrl: string, onVerdict: (verdict: Verdict) => void) =>
  new Promise<'ended' | 'stuck'>((resolve, reject) => {
    // The names of the tests make it a run of named files, which leaves out none of them.
    const child = fork(join(copy.folder, 'test/mutants/trial.ts'), task.tests, {
      cwd: copy.folder,
      detached: true,
      silent: true,
      env: { ...process.env, TEST_DATABASE_URL: databaseUrl, TEST_SEED: '1' },
    })
    let output = ''
    const keep = (text: Buffer): void => {
      output = `${output}${text}`.slice(-5_000)
    }
    child.stdout?.on('data', keep)
    child.stderr?.on('data', keep)
    /** Ends the process, its workers and what tests started. */
    const endGroup = (): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
      }
    }
    let open = task.faults.length + 1
    const stuck = (): void => {
      child.removeAllListeners('exit')
      endGroup()
      resolve('stuck')
    }
    let timer = setTimeout(stuck, LONGEST_MS)
    child.on('message', (message) => {
      clearTimeout(timer)
      timer = setTimeout(stuck, LONGEST_MS)
      open -= 1
      try {
        onVerdict(message as Verdict)
      } catch (error) {
        clearTimeout(timer)
        child.removeAllListeners()
        endGroup()
        reject(error)
      }
    })
    child.on('exit', () => {
      clearTimeout(timer)
      endGroup()
      if (open === 0) resolve('ended')
      else reject(new Error(`the tests of ${task.file} ended early:\n${output}`))
    })
    child.send(task)
  })

/**
 * Tries the faults of a file and calls `onVerdict` with the position of each. A fault that is stuck counts as noticed;
 * the others go on in a new process. Throws an Error if the tests fail without a fault.
 */
export const tryFaults = async (
  copy: Copy,
  task: Task,
  databaseUrl: string,
  onVerdict: (at: number, verdict: Verdict) => void,
): Promise<void> => {
  let done = 0
  while (done < task.faults.length) {
    let isUnchanged = true
    const result = await startTrial(copy, { ...task, faults: task.faults.slice(done) }, databaseUrl, (verdict) => {
      if (!isUnchanged) onVerdict(done++, verdict)
      else if (verdict.noticedBy !== null)
        throw new Error(`${task.file}: a test fails without a fault: ${verdict.noticedBy}`)
      isUnchanged = false
    })
    cpSync(task.file, join(copy.folder, task.file))
    if (result === 'ended') continue
    if (isUnchanged) throw new Error(`${task.file}: its tests do not end without a fault`)
    onVerdict(done++, { noticedBy: `no end after ${LONGEST_MS / 1_000} s`, ms: LONGEST_MS })
  }
}
