import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

/** Processor seconds of a process and its children so far, including ended ones if the system keeps these. */
export const spentBy = (pid: number): number => {
  if (existsSync('/proc/self/stat')) {
    const stats = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((name) => {
        try {
          // A name in parentheses may contain spaces. State and parent follow it, and from the 12th field on times in
          // 1/100 s.
          const fields = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ').at(-1)?.split(' ').map(Number) ?? []
          return { own: Number(name), parent: fields[1], ticks: fields.slice(11, Number(name) === pid ? 15 : 13) }
        } catch {
          return { own: 0, parent: 0, ticks: [] }
        }
      })
    const ticks = stats.filter(({ own, parent }) => own === pid || parent === pid).flatMap((each) => each.ticks)
    return ticks.reduce((sum, each) => sum + each, 0) / 100
  }
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,time='], { encoding: 'utf8' }).trim().split('\n')
  const seconds = lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([own, parent]) => Number(own) === pid || Number(parent) === pid)
    .map(([, , time = '']) => time.split(/[-:]/).reduce((sum, part) => sum * 60 + Number(part), 0))
  return seconds.reduce((sum, each) => sum + each, 0)
}
