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
import type { Reports } from './reports.ts'

/** What a span says of its work. */
type Told = { readonly name: string; readonly attributes: Attributes }

/** The span of one request. */
export type RequestSpan = {
  /** Runs what serves the request, so that its work counts for this span. */
  run(work: () => void): void
  end(answer: { readonly route: string; readonly status: number }): void
}

export type Tracing = {
  /** Begins the span of a request; it is part of the caller's trace where a `traceparent` names one. */
  begin(method: string, headers: IncomingHttpHeaders): RequestSpan
  /** From now on adds a span for such work, where it is done for a request. */
  follow<Subject extends object, Result>(reports: Reports<Subject, Result>, tell: (subject: Subject) => Told): void
  /** Sends what is left and ends. */
  close(): Promise<void>
}

/** Longest a collector is waited for, in milliseconds; an orderly stop waits for it too. */
const EXPORT_WITHIN_MS = 2_000

/**
 * Traces by OpenTelemetry, sent by OTLP over HTTP to a collector at `endpoint`. It sets the global tracer, so a process has one. A message of
 * an error is no part of a span: it may hold what nobody should be told.
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
    follow(reports, tell) {
      const spans = new WeakMap<object, Span>()
      const stop = reports.listen({
        begun(report) {
          if (trace.getActiveSpan() === undefined) return
          const { name, attributes } = tell(report)
          spans.set(report, tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }))
        },
        over(report) {
          const span = spans.get(report)
          if (report.error !== undefined) span?.setStatus({ code: SpanStatusCode.ERROR })
          span?.end()
        },
      })
      stops.push(stop)
    },
    async close() {
      for (const stop of stops) stop()
      // What a collector does not take is lost, and no fault of the stop.
      await provider.shutdown().catch(() => {})
      trace.disable()
      context.disable()
      propagation.disable()
    },
  }
}
