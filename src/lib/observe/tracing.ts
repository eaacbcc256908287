import type { IncomingHttpHeaders } from 'node:http'
import {
  type Attributes,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import type { Channel } from './channel.ts'

/** The name and the attributes of a span. */
type SpanDescription = { readonly name: string; readonly attributes: Attributes }

/** The span of one request. */
export type RequestSpan = {
  /** Runs the handler of the request within this span. */
  run(work: () => void): void
  end(answer: { readonly route: string; readonly status: number }): void
}

export type Tracing = {
  /** Begins the span of a request; it is part of the caller's trace where a `traceparent` names one. */
  begin(method: string, headers: IncomingHttpHeaders): RequestSpan
  /** From now on adds a span for each operation of the channel that runs on behalf of a request. */
  follow<About extends object, Result>(
    channel: Channel<About, Result>,
    describe: (about: About) => SpanDescription,
  ): void
  /** Sends the remaining spans and stops. */
  close(): Promise<void>
}

/** The time-out of an export, in milliseconds; an orderly shutdown waits for it too. */
const EXPORT_WITHIN_MS = 2_000

/**
 * Records traces with OpenTelemetry and sends them by OTLP over HTTP to a collector at `endpoint`. It sets the global
 * tracer, so a process has one. Error messages are not part of a span, because they may contain secrets.
 *
 * @example const tracing = createTracing({ endpoint: 'http://collector:4318', service: 'fx-protection-api' })
 */
export const createTracing = (options: { readonly endpoint: string; readonly service: string }): Tracing => {
  const url = `${options.endpoint.replace(/\/$/, '')}/v1/traces`
  const exporter = new OTLPTraceExporter({ url, timeoutMillis: EXPORT_WITHIN_MS })
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': options.service }),
    spanProcessors: [new BatchSpanProcessor(exporter, { exportTimeoutMillis: EXPORT_WITHIN_MS })],
  })
  provider.register()
  const tracer = provider.getTracer('fx-protection')
  const stops: (() => void)[] = []

  return {
    begin(method, headers) {
      const parent = propagation.extract(ROOT_CONTEXT, headers)
      const attributes = { 'http.request.method': method }
      const span = tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent)
      const within = trace.setSpan(parent, span)
      return {
        run: (work) => context.with(within, work),
        end({ route, status }) {
          span.updateName(`${method} ${route}`)
          span.setAttributes({ 'http.route': route, 'http.response.status_code': status })
          if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
          span.end()
        },
      }
    },
    follow(channel, describe) {
      const spans = new WeakMap<object, Span>()
      const stop = channel.subscribe({
        onStart(operation) {
          if (trace.getActiveSpan() === undefined) return
          const { name, attributes } = describe(operation)
          spans.set(operation, tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }))
        },
        onEnd(operation) {
          const span = spans.get(operation)
          if (operation.error !== undefined) span?.setStatus({ code: SpanStatusCode.ERROR })
          span?.end()
        },
      })
      stops.push(stop)
    },
    async close() {
      for (const stop of stops) stop()
      // Spans that the collector does not accept are lost and do not fail the shutdown.
      await provider.shutdown().catch(() => {})
      trace.disable()
      context.disable()
      propagation.disable()
    },
  }
}
