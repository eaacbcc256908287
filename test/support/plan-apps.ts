import { afterEach, beforeEach, expect } from 'vitest'
import type { Plan } from '../../src/plans/answer/schema.ts'
import type { Deployment } from '../../src/protocol/chains.ts'
import { openApp } from './app.ts'
import { startNodeProxy } from './node-proxy.ts'
import type { UsedProtocol } from './use-protocol.ts'

/** A refusal of `eth_simulateV1`, as of a node without the method. */
export const refusesSimulation = (method: string) =>
  method === 'eth_simulateV1'
    ? { code: -32_601, message: 'the method eth_simulateV1 does not exist/is not available' }
    : undefined

/** The same of calls on a changed state, as of a node that takes no third argument. */
export const refusesOverrides = (method: string, params: readonly unknown[]) =>
  refusesSimulation(method) ??
  (method === 'eth_call' && params.length > 2
    ? { code: -32_602, message: 'too many arguments, want at most 2' }
    : undefined)

/**
 * An app of its own for each test, whose plans read the head each time. The chain of `useProtocol` goes back after each
 * test, which an app takes for a lagging node for ten seconds.
 */
export const usePlans = (options: Parameters<typeof openApp>[0]): Pick<App, 'post'> => {
  let app: App | undefined
  beforeEach(async () => {
    app = await openApp({ headMaxAgeMs: -1, ...options })
  })
  afterEach(() => app?.close())
  return {
    post(path, body) {
      if (app === undefined) throw new Error('the app opens before each test')
      return app.post(path, body)
    },
  }
}

type App = Awaited<ReturnType<typeof openApp>>

/** A body as JSON, with its bigints as texts. */
const jsonOf = (body: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, typeof value === 'bigint' ? value.toString() : value]),
  )

/** The plan of an action on chain 8453; fails for any other answer. */
export const planOf = async (
  api: Pick<App, 'post'>,
  action: string,
  body: Readonly<Record<string, unknown>>,
): Promise<Plan> => {
  const { status, data, error } = await api.post(`/plans/${action}`, { chainId: 8453, ...jsonOf(body) })
  expect([status, error]).toEqual([200, undefined])
  return data as Plan
}

/** The codes of the issues because of which a plan is not executable. */
export const blockingCodes = ({ issues }: Plan): string[] =>
  issues.filter(({ blocking }) => blocking).map(({ code }) => code)

/**
 * Apps over the node of a protocol: with `eth_simulateV1` or without it, and with DAI as a configured token or not.
 */
export const startPlanApps = async ({ url, deployment, dai }: Pick<UsedProtocol, 'url' | 'deployment' | 'dai'>) => {
  const proxy = await startNodeProxy(url)
  proxy.refuse(refusesSimulation)
  const open = async (method: 'eth_simulateV1' | 'eth_call', isDaiConfigured: boolean) => {
    const configured: Deployment = isDaiConfigured
      ? { ...deployment, usdt: dai, paymentDecimals: { USDC: 6, USDT: 18 } }
      : deployment
    const node = { url: method === 'eth_call' ? proxy.url : url, deployment: configured }
    // Every plan reads the head: the transactions before it are mined.
    return { method, isDaiConfigured, api: await openApp({ nodes: [node], headMaxAgeMs: -1 }) }
  }
  const apps = await Promise.all(
    (['eth_simulateV1', 'eth_call'] as const).flatMap((method) => [open(method, true), open(method, false)]),
  )
  return {
    proxy,
    pick(wanted: { readonly method: string; readonly isDaiConfigured: boolean }) {
      const app = apps.find(
        ({ method, isDaiConfigured }) => method === wanted.method && isDaiConfigured === wanted.isDaiConfigured,
      )
      if (app === undefined) throw new Error(`no app for ${wanted.method}`)
      return app.api
    },
    async close(): Promise<void> {
      await Promise.all(apps.map(({ api }) => api.close()))
      await proxy.close()
    },
  }
}
