import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'

/** The resources of a process, as Linux reports them. */
export type Usage = {
  readonly rssBytes: number
  readonly peakBytes: number
  readonly handles: number
  readonly sockets: number
}

const KIB = 1_024

const field = (status: string, name: string): number => {
  const [, kib] = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status) ?? []
  return Number(kib) * KIB
}

const kindOf = (path: string): string => {
  try {
    return readlinkSync(path)
  } catch {
    // It was closed meanwhile.
    return ''
  }
}

/** Reads the resources that a process holds now. Throws when it has ended. */
export const usageOf = (pid: number): Usage => {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const handles = readdirSync(`/proc/${pid}/fd`).map((name) => kindOf(`/proc/${pid}/fd/${name}`))
  return {
    rssBytes: field(status, 'VmRSS'),
    peakBytes: field(status, 'VmHWM'),
    handles: handles.length,
    sockets: handles.filter((kind) => kind.startsWith('socket:')).length,
  }
}

/** Resets `peakBytes` to the memory that the process holds now. */
export const forgetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, '5')

export const mebibytes = (bytes: number): string => `${(bytes / KIB / KIB).toFixed(1)} MiB`

/**
 * How long the main thread of a process has been ready to run without a processor since it started, in milliseconds
 * (`run_delay` of Linux's scheduler statistics). 0 where the system does not count it or the process is gone.
 */
export const waitedForProcessorMs = (pid: number): number => {
  try {
    const [, runDelayNs] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')
    return Number(runDelayNs) / 1e6
  } catch {
    return 0
  }
}

/** The ticks of the processor time in /proc, in milliseconds: Linux reports hundredths of a second everywhere. */
const TICK_MS = 10

/** How long all threads of a process have run since it started, in milliseconds; 0 when it is gone. */
export const processorMs = (pid: number): number => {
  try {
    // The command name in parentheses may hold anything. User and system time are the 12th and 13th field after it.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS
  } catch {
    return 0
  }
}
