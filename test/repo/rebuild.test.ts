import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'fx-rebuild-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

for (const script of ['rebuild.sh', 'rolling-upgrade.sh', 'version.sh'])
  cpSync(join('deploy', script), join(folder, 'deploy', script))
mkdirSync(join(folder, 'deploy/secrets'))
beforeEach(() => {
  for (const secret of ['database_url', 'api_database_url'])
    writeFileSync(
      join(folder, 'deploy/secrets', secret),
      'postgres://fx:password@postgres:5432/fx_next?sslmode=disable',
    )
})

/** Docker is a function that fails: what is not refused ends there. */
const run = (command: string, env: NodeJS.ProcessEnv) => {
  const script = `docker() { echo docker >&2; exit 3; }; export -f docker; bash deploy/${command}`
  const { status, stderr } = spawnSync('bash', ['-c', script], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return { status, stderr }
}

test('a rebuild is refused without a version, with a name that PostgreSQL would change, and in the database in use', () => {
  expect(run('rebuild.sh fx_third', {})).toEqual({ status: 1, stderr: expect.stringContaining('VERSION: write') })
  const given = { VERSION: '1.2.3' }
  expect(run('rebuild.sh Fx', given)).toEqual({ status: 2, stderr: expect.stringContaining('expected lower-case') })
  expect(run('rebuild.sh fx_next', given)).toEqual({
    status: 2,
    stderr: 'the service uses the database fx_next: choose another name\n',
  })
  expect(run('rebuild.sh fx_third', given)).toEqual({ status: 3, stderr: expect.stringMatching(/docker\n$/) })
})

test('scripts take the version that compose reads from .env, and warn of another one', () => {
  expect(run('rolling-upgrade.sh', {})).toEqual({ status: 1, stderr: expect.stringContaining('VERSION: write') })
  const advice = 'write VERSION=1.2.3 to .env: other commands of compose start'
  const given = { VERSION: '1.2.3' }
  expect(run('rolling-upgrade.sh', given)).toMatchObject({
    status: 3,
    stderr: expect.stringContaining(`${advice} latest`),
  })
  writeFileSync(join(folder, '.env'), 'API_PORTS=3000\nVERSION=1.2.2\n')
  expect(run('rolling-upgrade.sh', given)).toMatchObject({
    status: 3,
    stderr: expect.stringContaining(`${advice} 1.2.2`),
  })
  expect(run('rolling-upgrade.sh', {})).toEqual({ status: 3, stderr: expect.stringMatching(/^(docker\n)+$/) })
})

test('an upgrade stops nothing while the image of the version does not exist', () => {
  const script = `docker() {
    echo "docker $*" >&2
    case $* in "compose config --images engine worker api") echo fx:1 ;; "image inspect fx:1") return 1 ;; esac
  }; export -f docker; bash deploy/rolling-upgrade.sh`
  const { status, stderr } = spawnSync('bash', ['-c', script], {
    cwd: folder,
    env: { PATH: process.env.PATH, VERSION: '1' },
    encoding: 'utf8',
  })
  expect(status).toBe(1)
  expect(stderr).toMatch(/docker image inspect fx:1\n$/)
})

/**
 * An upgrade of two APIs and a worker. Docker fails at the call that contains `failing`. Containers in `ended` have ended,
 * and those in `broken` are not healthy until they are replaced.
 */
const upgrade = (failing: string, { ended = '', broken = 'none' } = {}) => {
  // `timeout` runs programs and no functions, so docker is a program here.
  const docker = `#!/bin/sh
echo "docker $*" >&2
case "$*" in *"$FAILING"*) exit 1 ;;
  "compose ps --all "*" api") echo "$ENDED" ;;
  "compose ps --quiet api") cat apis ;;
  "rm api"*) sed --in-place "/^$2$/d" apis ;;
  "compose up "*" api") while [ "$(wc -l < apis)" -lt 2 ]; do echo x >> started; echo "api$((2 + $(wc -l < started)))" >> apis; done ;;
  "compose ps --quiet worker") echo worker1 ;;
  "inspect "*"$BROKEN") echo unhealthy ;;
  inspect*) echo healthy ;;
esac
`
  mkdirSync(join(folder, 'bin'), { recursive: true })
  writeFileSync(join(folder, 'bin/docker'), docker, { mode: 0o755 })
  writeFileSync(join(folder, '.env'), 'VERSION=2\n')
  writeFileSync(join(folder, 'apis'), ended === '' ? 'api1\napi2\n' : 'api2\n')
  writeFileSync(join(folder, 'started'), '')
  const PATH = `${join(folder, 'bin')}:${process.env.PATH}`
  const { status, stderr } = spawnSync('bash', ['deploy/rolling-upgrade.sh', 'worker', 'api'], {
    cwd: folder,
    env: { PATH, FAILING: failing, ENDED: ended, BROKEN: broken, BALANCER_SECONDS: '0', READY_SECONDS: '90' },
    encoding: 'utf8',
  })
  const calls = stderr
    .split('\n')
    .filter((line) => /^docker (stop|rm|exec|compose up)/.test(line))
    .map((line) => line.slice('docker '.length))
  return { status, stderr, calls }
}

const startOf = (service: string) =>
  `compose up --detach --no-deps --no-recreate --no-build --wait --wait-timeout 120 ${service}`
const readyIn = (api: string, seconds: number) =>
  expect.stringMatching(new RegExp(`^exec --env HEALTH_URL=\\S+/readyz ${api} timeout ${seconds} .*health.sh`))
const replaced = (container: string) => [`stop --time 30 ${container}`, `rm ${container}`]

test('an upgrade replaces one container after the other, and waits until all APIs are ready', () => {
  const { status, calls } = upgrade('nothing')
  expect(status).toBe(0)
  expect(calls).toEqual([
    ...[...replaced('worker1'), startOf('worker')],
    ...[readyIn('api1', 5), readyIn('api2', 5)],
    ...[...replaced('api1'), startOf('api'), readyIn('api2', 90), readyIn('api3', 90)],
    ...[...replaced('api2'), startOf('api'), readyIn('api3', 90), readyIn('api4', 90)],
  ])
})

test('an upgrade that is run again replaces what is not ready before what serves', () => {
  const { status, calls } = upgrade('nothing', { broken: 'api2' })
  expect(status).toBe(0)
  expect(calls.slice(3)).toEqual([
    readyIn('api1', 5),
    ...[...replaced('api2'), startOf('api'), readyIn('api1', 90), readyIn('api3', 90)],
    ...[...replaced('api1'), startOf('api'), readyIn('api3', 90), readyIn('api4', 90)],
  ])
})

test('an upgrade that is run again starts a new container for one that ended before it stops what serves', () => {
  const { status, calls } = upgrade('nothing', { ended: 'api1' })
  expect(status).toBe(0)
  expect(calls.slice(3)).toEqual([
    ...[readyIn('api2', 5), 'rm api1', startOf('api'), readyIn('api2', 90), readyIn('api3', 90)],
    ...[...replaced('api2'), startOf('api'), readyIn('api3', 90), readyIn('api4', 90)],
  ])
})

test.each([
  ['healthy', 'compose up', 'compose up', ''],
  ['ready', 'exec', 'exec', 'api3 is not ready: run this script again when /status shows no lag\n'],
])('an upgrade ends at the first container that does not become %s', (_, failing, last, advice) => {
  const { status, stderr, calls } = upgrade(failing)
  expect(status).toBe(1)
  expect(calls.at(-1)).toContain(last)
  expect(calls.filter((call) => call.startsWith('stop'))).toHaveLength(failing === 'exec' ? 2 : 1)
  expect(stderr.endsWith(advice)).toBe(true)
})

test('an upgrade whose containers cannot be listed ends, and is no upgrade of none', () => {
  for (const [list, calls] of [
    ['ps --quiet worker', 0],
    ['ps --quiet api', 3],
    ['ps --all', 0],
  ] as const) {
    const found = upgrade(list)
    expect([found.status, found.calls.length], list).toEqual([1, calls])
  }
})

/**
 * A rebuild on databases of chain 56 that is complete at once, and gets SIGTERM while the data moves, which has no effect.
 * Docker fails at the call that contains `failing`.
 * `carried`: how many times the new database has the history of the first one. `missing`: chains that it lacks blocks of. `replica`: what the APIs read lists from.
 */
const rebuildUntil = (failing: string, { chains = '8453,56', replica = '', carried = '0', missing = '0' } = {}) => {
  const script = `docker() {
    echo "docker $*" >&2
    case $* in *"$FAILING"*) return 1 ;;
      *"string_agg(chain_id::text, ' ') FROM cursors fx_next") echo 56 ;;
      *"printenv worker CHAINS") echo "$CHAINS" ;;
      *"printenv api DATABASE_READ_URL DATABASE_READ_URL_FILE") echo "$REPLICA"; return 1 ;;
      *"SELECT count(*) FROM (VALUES"*) echo "$MISSING" ;;
      *"SELECT epoch FROM change_counter fx_next") echo before ;;
      *"feed_epochs WHERE epoch = 'before' fx_third") echo "$CARRIED" ;;
      "ps --quiet --filter"*) echo running ;;
      *"worker carry") kill -TERM $$ ;;
    esac
  }; export -f docker; bash deploy/rebuild.sh fx_third`
  const { status, stderr } = spawnSync('bash', ['-c', script], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      ...{ VERSION: '1', CHAINS: chains, REPLICA: replica, FAILING: failing, CARRIED: carried, MISSING: missing },
      SWITCH_SECONDS: '0',
    },
    encoding: 'utf8',
  })
  return { status, stderr }
}

test('a rebuild that fails starts the workers again, or after the switch of the data prints what is left to do', () => {
  const other = rebuildUntil('createdb', { chains: '8453' })
  expect(other).toEqual({ status: 2, stderr: expect.stringContaining('has chain 56, which CHAINS lacks') })
  const withReplica = rebuildUntil('createdb', { replica: 'postgres://replica/fx_next' })
  expect(withReplica).toEqual({ status: 2, stderr: expect.stringContaining('unset DATABASE_READ_URL and run') })
  for (const failing of ['stop worker', 'stop --time 30', 'worker carry']) {
    const { status, stderr } = rebuildUntil(failing)
    expect(status, failing).toBe(1)
    expect(stderr).toMatch(/docker compose start worker\nnothing was switched; /)
  }
  const { status, stderr } = rebuildUntil('--force-recreate')
  expect(status).toBe(1)
  expect(stderr).not.toContain('start worker')
  expect(stderr).toMatch(/fx_third has everything, .*\n {2}deploy\/rolling-upgrade.sh\n$/s)
  expect(readFileSync(join(folder, 'deploy/secrets/database_url'), 'utf8')).toContain('/fx_third?')
})

test('a rebuild whose data may have moved starts no worker on the first database', () => {
  for (const carried of ['1', '']) {
    const { status, stderr } = rebuildUntil('worker carry', { carried })
    expect(status).toBe(1)
    expect(stderr).not.toContain('start worker')
    expect(stderr).toMatch(/start no worker, and run this script again: fx_third may have the webhooks of fx_next\n$/)
  }
})

test('a rebuild whose new worker does not catch up starts the workers again', () => {
  const { status, stderr } = rebuildUntil('nothing', { missing: '1' })
  expect(status).toBe(1)
  expect(stderr).toMatch(
    /the new worker does not reach the blocks .*docker compose start worker\nnothing was switched; /s,
  )
})
