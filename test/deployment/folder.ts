import { randomBytes } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { claimPorts, freePort } from '../../src/sandbox/parts/ports.ts'

/* The folder of a deployment: the compose file and `deploy` of this checkout, with settings and secrets of its own. */

/** Two ports next to each other. */
const twoPorts = async (): Promise<readonly [number, number]> => {
  for (;;) {
    const first = await freePort()
    try {
      await claimPorts([first, first + 1].map((port) => ({ variable: 'API_PORTS', port })))
      return [first, first + 1]
    } catch {
      // The second one is in use.
    }
  }
}

/** Webhooks without TLS go to loopback only. There, a relay in each container of the worker passes them on. */
export const RELAY_PORT = 8_080

const relay = (host: string, port: number): string => `const { connect, createServer } = require('node:net')
createServer((client) => {
  const receiver = connect(${port}, '${host}')
  for (const socket of [client, receiver]) socket.on('error', () => socket.destroy())
  client.pipe(receiver).pipe(client)
}).listen(${RELAY_PORT}, '127.0.0.1')
`

/** Other ports, the relay, and no monitoring. */
const override = (postgresPort: number, redisPort: number): string => `services:
  postgres: { ports: !override ["127.0.0.1:${postgresPort}:5432"] }
  redis: { ports: !override ["127.0.0.1:${redisPort}:6379"] }
  worker:
    entrypoint: ["tini", "--", "bash", "-c", "node /relay.cjs & exec node dist/cli.js \\"$$@\\"", "fx"]
    volumes: ["./relay.cjs:/relay.cjs:ro"]
  prometheus: { profiles: [monitoring] }
  alertmanager: { profiles: [monitoring] }
  grafana: { profiles: [monitoring] }
`

export type Outside = {
  /** The address of this machine for containers, and the port of the receiver of webhooks on it. */
  readonly gateway: string
  readonly receiverPort: number
  /** The variables of both chains. */
  readonly chains: Readonly<Record<string, string>>
}

export type Folder = {
  readonly path: string
  /** Those of the API's replicas, and of the databases. */
  readonly ports: readonly number[]
  readonly postgresPort: number
  readonly redisPort: number
  readonly remove: () => void
}

export const makeFolder = async ({ gateway, receiverPort, chains }: Outside): Promise<Folder> => {
  const ports = await twoPorts()
  const [postgresPort, redisPort] = [await freePort(), await freePort()]
  const path = mkdtempSync(join(tmpdir(), 'fx-deployment-'))
  cpSync('docker-compose.yml', join(path, 'docker-compose.yml'))
  const own = ['secrets', 'deployment.env', 'monitoring.env']
  cpSync('deploy', join(path, 'deploy'), { recursive: true, filter: (from) => !own.includes(basename(from)) })
  writeFileSync(join(path, 'docker-compose.override.yml'), override(postgresPort, redisPort))
  writeFileSync(join(path, 'relay.cjs'), relay(gateway, receiverPort))

  const { RPC_URLS_8453 = '', RPC_URLS_56 = '', ...settings } = chains
  const environment = { ...settings, CHAINS: '8453,56', TRUSTED_PROXIES: '0', WEBHOOKS_ALLOW_LOOPBACK: 'true' }
  const lines = Object.entries(environment).map(([name, value]) => `${name}=${value}\n`)
  writeFileSync(join(path, 'deploy/deployment.env'), lines.join(''))
  cpSync('deploy/monitoring.env.example', join(path, 'deploy/monitoring.env'))

  const password = randomBytes(24).toString('hex')
  const apiPassword = randomBytes(24).toString('hex')
  const secrets = {
    postgres_password: password,
    database_url: `postgres://fx:${password}@postgres:5432/fx`,
    api_password: apiPassword,
    api_database_url: `postgres://fx_api:${apiPassword}@postgres:5432/fx`,
    // The service refuses the keys of the local chains.
    engine_private_key: `0x${randomBytes(32).toString('hex')}`,
    webhooks_key: randomBytes(32).toString('hex'),
    rpc_urls_8453: RPC_URLS_8453,
    rpc_urls_56: RPC_URLS_56,
    grafana_password: randomBytes(24).toString('hex'),
    alert_webhook_url: 'https://receiver.example/KEY',
    heartbeat_url: 'https://heartbeat.example/KEY',
  }
  mkdirSync(join(path, 'deploy/secrets'), { mode: 0o700 })
  for (const [name, secret] of Object.entries(secrets)) writeFileSync(join(path, 'deploy/secrets', name), secret)
  return { path, ports, postgresPort, redisPort, remove: () => rmSync(path, { recursive: true, force: true }) }
}
