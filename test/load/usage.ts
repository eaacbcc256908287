import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'

/** What a process holds, as Linux tells it. */
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
    // It was closed while we looked.
    return ''
  }
}

/** Reads what a process holds now. Throws when it is gone. */
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

/** Lets `peakBytes` begin anew at what the process holds now. */
export const forgetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, '5')

export const mebibytes = (bytes: number): string => `${(bytes / KIB / KIB).toFixed(1)} MiB`
