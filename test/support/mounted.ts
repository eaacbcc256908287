import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { z } from 'zod'

const Announced = z.object({ fastify: z.custom<FastifyInstance>((value) => typeof value === 'object') })

/** Every route that is mounted on the apps that `build` makes, with its schemas. */
export const mountedBy = async (build: () => Promise<unknown>): Promise<readonly RouteOptions[]> => {
  const routes: RouteOptions[] = []
  const watch = (message: unknown): void => {
    const { fastify } = Announced.parse(message)
    fastify.addHook('onRoute', (route) => void routes.push(route))
  }
  subscribe('fastify.initialization', watch)
  try {
    await build()
  } finally {
    unsubscribe('fastify.initialization', watch)
  }
  return routes
}
