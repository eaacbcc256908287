import { readFile } from 'node:fs/promises'
import Fastify from 'fastify'
import { packaged } from '../../lib/root.ts'
import { type Controlled, controls, isControl } from './actions.ts'
import { ControlError, failureOf } from './failure.ts'
import { corsOf, originsOf, refusalOf } from './guard.ts'
import type { Failure } from './messages.ts'
import { forward } from './rpc.ts'

/** A wallet's largest request is a transaction; it has a few kilobytes. */
const BODY_LIMIT = 131_072

export type ControlsOptions = Controlled & {
  readonly port: number
  /** Its pages may use the controls, and no others. */
  readonly apiPort: number
}

/**
 * Serves the sandbox's wallet and controls on 127.0.0.1: the script of the panel, `POST /controls/<name>` and
 * `POST /rpc/<chainId>`. Throws when the port is taken.
 *
 * @example const { close } = await startControls({ port: 20_000, apiPort: 3_000, chains, accounts })
 */
export const startControls = async ({ port, apiPort, ...controlled }: ControlsOptions) => {
  const allowed = { port, origins: originsOf(apiPort) }
  const app = Fastify({ bodyLimit: BODY_LIMIT, forceCloseConnections: true })
  // Other pages may send texts without a preflight.
  app.removeContentTypeParser('text/plain')

  app.setErrorHandler((error, _, reply) => {
    const { status, text } = failureOf(error)
    return reply.code(status).send({ error: text } satisfies Failure)
  })
  app.setNotFoundHandler((_, reply) => reply.code(404).send({ error: 'there is nothing here' } satisfies Failure))
  app.addHook('onRequest', async (request, reply) => {
    const refusal = refusalOf(request, allowed)
    if (refusal !== null) throw new ControlError(403, refusal)
    reply.headers({ ...corsOf(request), 'cache-control': 'no-store' })
  })

  app.options('*', async (_, reply) => reply.code(204).send())

  app.get('/sandbox.js', async (_, reply) => {
    const script = await readFile(packaged('dist/sandbox/sandbox.js')).catch(() => null)
    if (script === null) throw new ControlError(404, 'the script was not built: run npm run build')
    reply.headers({ 'cross-origin-resource-policy': 'cross-origin', 'x-content-type-options': 'nosniff' })
    return reply.type('text/javascript; charset=utf-8').send(script)
  })

  let isBusy = false
  app.post<{ Params: { name: string } }>('/controls/:name', async ({ params: { name }, body }) => {
    if (!isControl(name)) throw new ControlError(404, `there is no control ${name.slice(0, 40)}`)
    if (name === 'state') return controls.state.run(controlled, body)
    if (isBusy) throw new ControlError(409, 'another control is at work: try again when it is done')
    isBusy = true
    try {
      return await controls[name].run(controlled, body)
    } finally {
      isBusy = false
    }
  })

  const senders = controlled.accounts.users.map(({ account }) => account.address)
  app.post<{ Params: { chainId: string } }>('/rpc/:chainId', async ({ params: { chainId }, body }) => {
    const found = controlled.chains.find(({ actions }) => String(actions.chain.chainId) === chainId)
    if (found === undefined) throw new ControlError(404, `the sandbox has no chain ${chainId.slice(0, 20)}`)
    return forward(found.actions.chain.rpcUrl, senders, body)
  })

  await app.listen({ host: '127.0.0.1', port })
  return { close: () => app.close() }
}
