import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'

const Words = z.array(z.string())
const Condition = z.object({
  condition: z.enum(['service_started', 'service_healthy', 'service_completed_successfully']),
})

/** The keys that our services may have. An unknown key is an error. */
const Service = z.strictObject({
  image: z.string(),
  build: z.object({ context: z.string() }).optional(),
  command: Words.optional(),
  environment: z.record(z.string(), z.string()).default({}),
  env_file: Words.default([]),
  secrets: Words.default([]),
  ports: z.array(z.string().regex(/:\d+$/)).default([]),
  volumes: z.array(z.string().regex(/^[\w./-]+:\/[\w./-]+(:ro)?$/)).default([]),
  depends_on: z.union([Words, z.record(z.string(), Condition)]).default([]),
  deploy: z.strictObject({
    replicas: z.int().positive().default(1),
    resources: z.strictObject({
      limits: z.strictObject({ memory: z.string().regex(/^\d+[mg]$/), cpus: z.string(), pids: z.int().positive() }),
    }),
  }),
  networks: Words,
  logging: z.strictObject({
    driver: z.literal('json-file'),
    options: z.strictObject({ 'max-size': z.string(), 'max-file': z.string() }),
  }),
  healthcheck: z
    .union([
      z.strictObject({ disable: z.literal(true) }),
      z.strictObject({ test: Words, interval: z.string(), retries: z.int().optional() }),
    ])
    .optional(),
  restart: z.enum(['no', 'unless-stopped']),
  read_only: z.boolean().optional(),
  cap_drop: Words.optional(),
  security_opt: Words.optional(),
  stop_grace_period: z
    .string()
    .regex(/^\d+s$/)
    .optional(),
  shm_size: z.string().optional(),
})

const Compose = z.strictObject({
  'x-service': z.unknown(),
  'x-logging': z.unknown(),
  services: z.record(z.string(), Service),
  secrets: z.record(z.string(), z.strictObject({ file: z.string() })),
  volumes: z.record(z.string(), z.null()),
  networks: z.record(z.string(), z.strictObject({ internal: z.literal(true) }).nullable()),
})

/** The compose file, checked. */
export const readCompose = (): z.output<typeof Compose> =>
  Compose.parse(parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }))

/** What `deploy/self-service.yml` adds to services of the compose file. */
export const readSelfService = () =>
  z
    .strictObject({
      services: z.record(z.string(), z.strictObject(Service.pick({ environment: true, secrets: true }).shape)),
    })
    .parse(parse(readFileSync('deploy/self-service.yml', 'utf8'))).services
