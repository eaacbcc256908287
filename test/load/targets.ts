import { z } from 'zod'
import { openApp } from '../support/app.ts'
import { exampleBody } from '../support/example-body.ts'
import { mountedBy } from '../support/mounted.ts'
import type { Target } from './bodies.ts'

type Api = Awaited<ReturnType<typeof openApp>>

/** An API without any source, and each of its routes that takes a body. */
export const openTargets = async (): Promise<{ api: Api; targets: Target[] }> => {
  const apps: Api[] = []
  const routes = await mountedBy(async () => void apps.push(await openApp({})))
  const [api] = apps
  if (api === undefined) throw new Error('no app was built')
  const targets = routes.flatMap((mounted): Target[] => {
    const { url, method, schema, bodyLimit: limit } = mounted
    if (method !== 'POST' || !(schema?.body instanceof z.ZodType)) return []
    const example = exampleBody(mounted)
    return [{ route: url, limit: limit ?? api.app.initialConfig.bodyLimit ?? 0, example }]
  })
  return { api, targets }
}
