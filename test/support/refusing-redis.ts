import { Redis } from 'ioredis'
import { startOwnRedis, type TestService } from './services.ts'

/** The ways in which a Redis that still answers refuses writes, and what ends each. */
const refusals = {
  /** As the old primary of a fail-over does: it follows another server, here one that does not run. */
  READONLY: { begin: ['REPLICAOF', '127.0.0.1', '9'], end: ['REPLICAOF', 'NO', 'ONE'] },
  OOM: { begin: ['CONFIG', 'SET', 'maxmemory', '1'], end: ['CONFIG', 'SET', 'maxmemory', '0'] },
} as const

export type Refusal = keyof typeof refusals

export const refusalNames = Object.keys(refusals) as Refusal[]

/** A separate Redis that a test can make refuse writes. */
export type RefusingRedis = TestService & {
  readonly client: Redis
  refuse(refusal: Refusal): Promise<void>
  accept(refusal: Refusal): Promise<void>
}

export const startRefusingRedis = async (): Promise<RefusingRedis> => {
  const service = await startOwnRedis()
  const client = new Redis(service.url)
  const run = async ([command, ...args]: readonly [string, ...string[]]): Promise<void> =>
    void (await client.call(command, ...args))
  return {
    url: service.url,
    client,
    refuse: (refusal) => run(refusals[refusal].begin),
    accept: (refusal) => run(refusals[refusal].end),
    async close() {
      client.disconnect()
      await service.close()
    },
  }
}
