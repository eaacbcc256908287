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
  build: z.string().optional(),
  command: Words.optional(),
  environment: z.record(z.string(), z.string()).default({}),
  env_file: Words.default([]),
  secrets: Words.default([]),
  ports: z.array(z.string().regex(/:\d+$/)).default([]),
  volumes: z.array(z.string().regex(/^[\w./-]+:\/[\w./-]+(:ro)?$/)).default([]),
  depends_on: z.union([Words, z.record(z.string(), Condition)]).default([]),
  deploy: z.strictObject({ replicas: z.int().positive() }).default({ replicas: 1 }),
  healthcheck: z
    .union([
      z.strictObject({ disable: z.literal(true) }),
      z.strictObject({ test: Words, interval: z.string(), retries: z.int().optional() }),
    ])
    .optional(),
  restart: z.enum(['no', 'unless-stopped']),
  init: z.boolean().optional(),
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
  services: z.record(z.string(), Service),
  secrets: z.record(z.string(), z.strictObject({ file: z.string() })),
  volumes: z.record(z.string(), z.null()),
})

/** The compose file, checked. */
export const readCompose = (): z.output<typeof Compose> =>
  Compose.parse(parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }))
