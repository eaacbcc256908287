import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { builtCommand } from './built.ts'
import { eventually, isAlive } from './process.ts'

/** A sandbox as a developer starts it from a terminal, on free ports. */
export type SandboxProcess = {
  readonly pid: number
  readonly url: string
  readonly rpcUrls: Readonly<Record<number, string>>
  /** The file with the variables of the system. */
  envFile(): string
  /** Everything it printed so far. */
  output(): string
  /** The process ids of its children whose command line matches. */
  children(pattern: RegExp): number[]
  /** Runs `audit` against it and returns the report. */
  audit(): Promise<string>
  /** Sends a signal; resolves with the exit code and the processes that it started and that still run. */
  stop(signal: NodeJS.Signals): Promise<{ code: number | null; left: string[] }>
}

/** The process tree below a process: id and command line of each. */
const descendants = (root: number): { pid: number; command: string }[] => {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc').filter((each) => /^\d+$/.test(each))) {
    try {
      // The command name in parentheses may hold anything; the parent is the second field after it.
      const [, parent] = readFileSync(`/proc/${name}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? []
      parents.set(Number(name), Number(parent))
    } catch {
      // It ended meanwhile.
    }
  }
  const below = (pid: number): number[] =>
    [...parents].filter(([, parent]) => parent === pid).flatMap(([child]) => [child, ...below(child)])
  return below(root).map((pid) => ({ pid, command: commandOf(pid) }))
}

const commandOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}

/** The README's command, which builds the product first. */
export const npmStart = { command: 'npm', args: ['start', '--'] } as const

/** Starts a sandbox and resolves when it reports that it is ready. `env` adds to its environment. */
export const startSandboxProcess = async (
  flags: readonly string[],
  env: Readonly<Record<string, string>> = {},
  start: { readonly command: string; readonly args: readonly string[] } = builtCommand('sandbox'),
): Promise<SandboxProcess> => {
  const child: ChildProcess = spawn(start.command, [...start.args, ...flags], {
    // A process group of its own, as a terminal gives it.
    detached: true,
    env: { ...process.env, PORT: '0', SANDBOX_RPC_PORT_8453: '0', SANDBOX_RPC_PORT_56: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (text += chunk))
  const find = (pattern: RegExp): string => {
    const [, found] = pattern.exec(text) ?? []
    if (found === undefined) throw new Error(`the sandbox did not print ${pattern}:\n${text}`)
    return found
  }
  await eventually(
    'the sandbox is ready',
    () => {
      if (child.exitCode !== null) throw new Error(`the sandbox ended:\n${text}`)
      return text.includes('Try\n') && text.includes('--env-file')
    },
    120_000,
  )
  const { pid } = child
  if (pid === undefined) throw new Error(`${start.command} could not be started`)
  const children = (pattern: RegExp): number[] =>
    descendants(pid)
      .filter(({ command }) => pattern.test(command))
      .map(({ pid }) => pid)
  return {
    pid,
    url: find(/The sandbox is ready: (\S+)/),
    rpcUrls: { 8453: find(/8453 {2}node +(\S+)/), 56: find(/56 +node +(\S+)/) },
    /** The file with the variables of the system. */
    envFile: () => find(/--env-file (\S+)/),
    output: () => text,
    children,
    async audit() {
      const { command, args } = builtCommand('audit', '--env-file', find(/--env-file (\S+)/))
      // It exits with 1 if it found differences, which are in its report.
      const { stdout } = await promisify(execFile)(command, args).catch((fault) => {
        if (fault.code === 1 && fault.stdout !== '') return fault
        throw fault
      })
      return stdout
    },
    async stop(signal) {
      const started = children(/./)
      const ended = once(child, 'exit')
      // Ctrl-C goes to the whole group; a supervisor's SIGTERM to the process it started.
      process.kill(signal === 'SIGINT' ? -pid : pid, signal)
      const [code] = await ended
      // A process without a command line has ended and waits for its parent to notice.
      return {
        code,
        left: started
          .filter(isAlive)
          .map(commandOf)
          .filter((command) => command !== ''),
      }
    },
  }
}
