import { type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { OperatorError } from '../../src/lib/errors.ts'
import { readCompose } from '../support/compose.ts'

/* The Docker engine of this machine. */

export const progress = (line: string): void => console.error(`${new Date().toISOString().slice(11, 19)} ${line}`)

/** The process groups of the programs that run. */
const running = new Set<number>()

/** Ends the programs that run, with their children. */
export const endPrograms = (): void => {
  for (const group of running) {
    try {
      process.kill(-group, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
  }
}

/** Runs a program to its end. Resolves to its output without the last line break; throws with its last lines. */
export const run = async (program: string, args: readonly string[], options: SpawnOptions = {}): Promise<string> => {
  const child = spawn(program, args, { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const [output, all]: [Buffer[], Buffer[]] = [[], []]
  child.stdout?.on('data', (chunk: Buffer) => output.push(chunk) && all.push(chunk))
  child.stderr?.on('data', (chunk: Buffer) => all.push(chunk))
  const closed = once(child, 'close')
  if (child.pid !== undefined) running.add(child.pid)
  try {
    const [code] = await closed
    if (code === 0) return Buffer.concat(output).toString().trimEnd()
    const last = Buffer.concat(all).toString().trimEnd().split('\n').slice(-30).join('\n')
    throw new Error(`${program} ${args.join(' ')} failed:\n${last}`)
  } finally {
    if (child.pid !== undefined) running.delete(child.pid)
  }
}

export const docker = (...args: readonly string[]): Promise<string> => run('docker', args)

/** The output of a command, or null when it fails. */
const tried = (...args: readonly string[]): Promise<string | null> => docker(...args).catch(() => null)

/** Base images by the names in docker-compose.yml and the Dockerfile. Those of the monitoring are not needed. */
const baseImages = (): readonly string[] => {
  const [, node = ''] = /^ARG NODE_IMAGE=(\S+)$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? []
  const { postgres, redis } = readCompose().services
  return [node, postgres?.image ?? '', redis?.image ?? '']
}

/** The address of this machine in the default network of containers. Throws where the engine runs on another machine. */
const gatewayOf = async (): Promise<string> => {
  const format = '{{with index .IPAM.Config 0}}{{.Gateway}} {{.Subnet}}{{end}}'
  const [given = '', subnet = ''] = (await docker('network', 'inspect', 'bridge', '--format', format)).split(' ')
  // Older engines leave it out until a container runs. It is the first address then.
  const gateway = given || subnet.replace(/0\/\d+$/, '1')
  const server = createServer().listen(0, gateway)
  try {
    await once(server, 'listening')
  } catch {
    throw new OperatorError(`the engine runs on another machine: its bridge has the address ${gateway}`)
  }
  server.close()
  return gateway
}

export type Engine = {
  readonly engine: string
  readonly compose: string
  /** The address of this machine that containers reach. */
  readonly gateway: string
  /** The base images that this run made. */
  readonly made: readonly string[]
  readonly areStandIns: boolean
}

/** Finds the engine and its base images. Throws an OperatorError that names what is missing. */
export const openEngine = async (): Promise<Engine> => {
  const engine = await tried('version', '--format', '{{.Server.Version}}')
  if (engine === null)
    throw new OperatorError(
      'no Docker engine answers: start one (Debian: apt-get install docker.io, then dockerd), or run this as an account that may use it',
    )
  if (process.getuid?.() !== 0)
    throw new OperatorError('run this as root: it ends processes of containers as a crash does')
  const compose = await tried('compose', 'version', '--short')
  if (compose === null) throw new OperatorError('docker has no compose plugin: install version 2.24 or newer')
  const gateway = await gatewayOf()
  if ((await tried('buildx', 'version')) === null) process.env.DOCKER_BUILDKIT = '0'

  const images = baseImages()
  const missing: string[] = []
  for (const image of images) if ((await tried('image', 'inspect', image)) === null) missing.push(image)
  if (missing.length > 0 && process.env.STAND_IN_IMAGES === '1') {
    progress(`makes stand-ins for ${missing.join(', ')}: some minutes`)
    await run('test/deployment/stand-in-images.sh', [])
  } else {
    for (const image of missing) {
      progress(`pulls ${image}`)
      if ((await tried('pull', image)) === null)
        throw new OperatorError(`cannot pull ${image}: STAND_IN_IMAGES=1 makes a stand-in from Debian's packages`)
    }
  }
  const labels = await docker('image', 'inspect', '--format', '{{json .Config.Labels}}', ...images)
  const areStandIns = labels.includes('stand-in')
  return { engine: engine.replace(/\+.*/, ''), compose, gateway, made: areStandIns ? missing : [], areStandIns }
}

/** Builds the image of this checkout under a tag, and with its own commit. */
export const buildImage = (tag: string, commit: string): Promise<string> =>
  docker('build', '--build-arg', `BUILD_COMMIT=${commit}`, '--tag', `fx-protection-api:${tag}`, '.')

/** Removes every container, network and volume of a compose project. */
export const removeProject = async (project: string): Promise<void> => {
  const label = `label=com.docker.compose.project=${project}`
  for (const [kind, list, remove] of [
    ['container', ['ps', '--all', '--quiet'], ['rm', '--force', '--volumes']],
    ['network', ['network', 'ls', '--quiet'], ['network', 'rm']],
    ['volume', ['volume', 'ls', '--quiet'], ['volume', 'rm', '--force']],
  ] as const) {
    const found = (await docker(...list, '--filter', label)).split('\n').filter(Boolean)
    if (found.length === 0) continue
    progress(`removes ${found.length} ${kind}s`)
    await docker(...remove, ...found)
  }
}
