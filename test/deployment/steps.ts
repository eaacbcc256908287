import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../support/process.ts'
import { docker, progress } from './engine.ts'
import { type Folder, RELAY_PORT } from './folder.ts'
import { type Measured, measure } from './measure.ts'
import type { Chains, Receiver } from './outside.ts'
import type { Kept, Service } from './service.ts'

/** How long a partition lasts. */
const CUT_MS = 30_000

const ENDPOINTS: Readonly<Record<string, string>> = {
  '/settlements': 'settlement.settled,settlement.reverted',
  '/activity': 'activity.recorded,activity.reverted,settlement.settled',
}

/** The first start of `install.md`: every container, then two endpoints of webhooks. */
export const start = async (service: Service, receiver: Receiver): Promise<number> => {
  progress('starts')
  const began = performance.now()
  await service.compose('up', '--detach', '--no-build')
  const since = { heads: new Map((await service.since()).heads), at: 0 }
  const ready = async (): Promise<boolean> => {
    const held = ['API', 'index', 'containers'].map(async (sign) => service.signs[sign]?.(since).catch(() => false))
    return (await Promise.all(held)).every((it) => it === true)
  }
  await eventually('every container is healthy and every index is ready', ready, 300_000, 250)
  const seconds = Math.round((performance.now() - began) / 100) / 10
  for (const [path, types] of Object.entries(ENDPOINTS)) {
    const url = `http://127.0.0.1:${RELAY_PORT}${path}`
    const printed = await service.compose(
      'run',
      '--rm',
      '--no-deps',
      'worker',
      'webhooks',
      'add',
      '--url',
      url,
      '--types',
      types,
    )
    const [, secret] = /^secret: (\S+)/m.exec(printed) ?? []
    if (secret === undefined) throw new Error(`no secret in ${printed}`)
    receiver.secrets.set(path, secret)
  }
  return seconds
}

/** Whether what listens on a port of this machine answers a message of its protocol. */
const answers = (port: number, message: string, expected: RegExp): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(Buffer.from(message, 'latin1')))
    socket.setTimeout(5_000, () => socket.destroy())
    socket.once('data', (data) => {
      resolve(expected.test(data.toString('latin1')))
      socket.destroy()
    })
    socket.once('error', () => {})
    socket.once('close', () => resolve(false))
  })

/** The databases answer on their published ports. */
export const checkPorts = async ({ postgresPort, redisPort }: Folder): Promise<void> => {
  // A request for TLS, which PostgreSQL answers with one letter.
  if (!(await answers(postgresPort, '\0\0\0\b\x04\xd2\x16\x2f', /^[NS]$/))) throw new Error('PostgreSQL has no port')
  if (!(await answers(redisPort, 'PING\r\n', /^\+PONG/))) throw new Error('Redis has no port')
}

/** Replaces every process by a later build while requests go on. */
export const upgrade = async (service: Service, tag: string, commit: string): Promise<Measured> => {
  const measured = await measure(service, 'rolling upgrade', async () => {
    service.setVersion(tag)
    await service.compose('run', '--rm', 'migrate')
    await service.here('deploy/rolling-upgrade.sh')
  })
  const commits = await service.commits()
  if (!commits.every((it) => it === commit))
    throw new Error(`expected ${commit} of each replica, got ${commits.join()}`)
  return measured
}

/** Ends the main process of a container by SIGKILL, as a crash does: after `docker kill` no policy starts it again. */
const crash = async (container: string): Promise<void> => {
  process.kill(Number(await docker('inspect', '--format', '{{.State.Pid}}', container)), 'SIGKILL')
}

/** Each process, one after the other. */
export const kills = async (service: Service): Promise<Measured[]> => {
  const one = async (name: string): Promise<string> => (await service.idsOf(name))[0] ?? ''
  const targets: readonly (readonly [string, () => Promise<string>])[] = [
    ['one of two `api`', () => one('api')],
    ['the leading `worker`', service.leader],
    ['`engine`', () => one('engine')],
    ['`redis`', () => one('redis')],
    ['`postgres`', () => one('postgres')],
  ]
  const rows: Measured[] = []
  for (const [name, find] of targets) {
    const container = await find()
    rows.push(await measure(service, `SIGKILL of ${name}`, () => crash(container)))
  }
  return rows
}

/** Cuts containers off the network of the database for a while. */
export const partitions = async (service: Service): Promise<Measured[]> => {
  const network = `${service.project}_database`
  const each = async (command: 'connect' | 'disconnect', containers: readonly string[]): Promise<void> => {
    for (const container of containers) await docker('network', command, network, container)
  }
  const apis = await service.idsOf('api')
  const cut = async (containers: readonly string[]): Promise<void> => {
    await each('disconnect', containers)
    await sleep(CUT_MS)
    await each('connect', containers)
  }
  const rows = [await measure(service, 'both `api` cut off the database for 30 s', () => cut(apis))]
  const leader = await service.leader()
  rows.push(
    await measure(service, 'the leading `worker` cut off: the other one takes over', () =>
      each('disconnect', [leader]),
    ),
  )
  rows.push(await measure(service, 'that `worker` reached again', () => each('connect', [leader])))
  return rows
}

/** What was there before and is not there afterwards. */
const lost = (before: Kept, after: Kept): number =>
  (Object.keys(before) as (keyof Kept)[]).reduce((sum, name) => {
    const kept = new Set(after[name])
    return sum + before[name].filter((key) => !kept.has(key)).length
  }, 0)

export type Compared = Measured & {
  readonly before: Kept
  readonly after: Kept
  readonly lost: number
  /** Messages that arrived more than once meanwhile. */
  readonly copies: number
  readonly output: string
}

/** Waits until every message was delivered, with no transaction under way. */
const quiet = async (service: Service, chains: Chains): Promise<Kept> => {
  await chains.stopActivity()
  // Longer than a step of the index takes.
  await sleep(10_000)
  const waiting = "SELECT count(*) FROM deliveries WHERE state = 'waiting'"
  await eventually('every message is delivered', async () => (await service.psql(waiting)) === '0', 120_000, 1_000)
  return service.kept()
}

/** Runs a step on a quiet service, and compares what no chain has before and after it. */
const compared = async (
  service: Service,
  chains: Chains,
  receiver: Receiver,
  name: string,
  step: () => Promise<string>,
): Promise<Compared> => {
  const before = await quiet(service, chains)
  const { copies } = receiver.counts()
  let after = before
  let output = ''
  const measured = await measure(service, name, async () => {
    output = await step()
    after = await service.kept()
    chains.startActivity(service.database().length)
  })
  return { ...measured, before, after, lost: lost(before, after), copies: receiver.counts().copies - copies, output }
}

export const rebuild = (service: Service, chains: Chains, receiver: Receiver, name: string): Promise<Compared> =>
  compared(service, chains, receiver, `rebuild in \`${name}\``, async () => {
    const output = await service.here('deploy/rebuild.sh', name)
    const previous = service.database()
    service.useDatabase(name)
    await service.compose('exec', '-T', 'postgres', 'dropdb', '--username', 'fx', previous)
    return /^carried over.*$/m.exec(output)?.[0] ?? output
  })

/** Runs the commands of `backup.md`. Every process stops meanwhile. */
export const restore = (service: Service, chains: Chains, receiver: Receiver): Promise<Compared> =>
  compared(service, chains, receiver, 'backup and restore', async () => {
    const name = service.database()
    const shell = (line: string): Promise<string> => service.here('bash', '-c', line)
    await shell(`docker compose exec -T postgres pg_dump --username fx --format custom ${name} > fx.dump`)
    await service.compose('stop', 'api', 'worker', 'engine')
    await service.compose('exec', '-T', 'postgres', 'dropdb', '--username', 'fx', '--force', name)
    await service.compose('exec', '-T', 'postgres', 'createdb', '--username', 'fx', name)
    await shell(
      `docker compose exec -T postgres pg_restore --username fx --dbname ${name} --exit-on-error --single-transaction < fx.dump`,
    )
    await service.compose('up', '--detach')
    return ''
  })
