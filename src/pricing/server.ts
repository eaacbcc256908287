import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import { errorText, notFound, unavailable } from '../lib/errors.ts'
import { closesHalfOpen } from '../lib/http/half-open.ts'
import { createRequestMetrics, onEnd } from '../lib/http/metrics.ts'
import { parseInput } from '../lib/http/parse.ts'
import { problem } from '../lib/http/problem.ts'
import type { Metrics } from '../lib/observe/metrics.ts'
import { CLIENT_HEADER } from './client.ts'
import type { Engine } from './engine.ts'
import { QuoteRequest, ValuesRequest } from './messages.ts'
import { measureRates } from './metrics.ts'

/** Maximum bytes of a request body, which has nine short fields. */
const BODY_LIMIT = 16_384

/** Maximum bytes of a request for values, whose 200 ranges take up to 200 bytes each. */
const VALUES_LIMIT = 65_536

/** Maximum milliseconds for a request to arrive. */
const REQUEST_WITHIN_MS = 10_000

const answer = (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
  const { status, body, retryAfter } = problem(error, request.id)
  if (retryAfter !== undefined) reply.header('retry-after', retryAfter)
  if (status === 500) request.log.error({ err: error }, 'request failed')
  else request.log.info({ status, fault: errorText(error) }, 'request rejected')
  return reply.code(status).send(body)
}

/**
 * The engine's own small HTTP app: `POST /quote`, `POST /backtest`, `POST /values`, `GET /health`, `GET /signer`,
 * `GET /livez` and `GET /readyz`, in the API's envelopes. Only the API should reach it: do not expose it to a public network.
 */
export const buildEngineApp = ({
  engine,
  draining,
  metrics,
  log,
}: {
  readonly engine: Engine
  /** Aborts shortly before the app closes. */
  readonly draining: AbortSignal
  readonly metrics: Metrics
  readonly log: FastifyBaseLogger
}): FastifyInstance => {
  const app = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    bodyLimit: BODY_LIMIT,
    requestTimeout: REQUEST_WITHIN_MS,
    return503OnClosing: false,
    frameworkErrors: answer,
  })
  app.addHook('preClose', closesHalfOpen(app.server, draining))
  onEnd(app, createRequestMetrics(metrics))
  measureRates(metrics, engine)
  app.removeContentTypeParser('text/plain')
  app.setErrorHandler(answer)
  app.setNotFoundHandler((request) => {
    throw notFound(`no route ${request.method} ${request.url.split('?', 1)[0]}`)
  })

  app.post('/quote', async ({ body }) => ({ data: await engine.quote(parseInput(QuoteRequest, body, 'body')) }))
  app.post('/values', { bodyLimit: VALUES_LIMIT }, async ({ body }) => ({
    data: await engine.values(parseInput(ValuesRequest, body, 'body')),
  }))
  app.post('/backtest', async ({ body, headers }) => ({
    data: await engine.backtest(parseInput(QuoteRequest, body, 'body'), `${headers[CLIENT_HEADER] ?? ''}`),
  }))
  app.get('/health', async () => ({ data: await engine.health() }))
  app.get('/signer', async () => ({ data: { signerAddress: engine.signerAddress } }))
  app.get('/livez', async () => ({ data: { status: 'ok' } }))
  app.get('/readyz', async () => {
    if (draining.aborted) throw unavailable('the engine is shutting down')
    return { data: { status: 'ok' } }
  })
  return app
}
