import type { Ended, RequestMetrics, Series } from '../lib/http-metrics.ts'
import type { LineBuffer } from '../lib/line-buffer.ts'

type Kind = { readonly series: Series; readonly line: ReturnType<LineBuffer['kind']> }

/**
 * Records a request that ended: its metrics, and its log line unless the client disconnected. `traceId` is that of the
 * client's trace.
 */
export type Access = (ended: Ended, requestId: string, traceId: string | undefined) => void

/**
 * Creates the recorder of requests. The parts that are equal for all requests of a route, method and status are
 * prepared once.
 */
export const createAccess = (metrics: RequestMetrics, lines: LineBuffer): Access => {
  const kinds = new Map<string | undefined, Map<string, Kind>>()
  const prepare = (ofRoute: Map<string, Kind>, { method, route, status }: Ended): Kind => {
    const kind = { series: metrics.series(method, route, status), line: lines.kind(method, route, Number(status)) }
    ofRoute.set(method + status, kind)
    kinds.set(route, ofRoute)
    return kind
  }
  return (ended, requestId, traceId) => {
    const { method, route, status, ms } = ended
    const ofRoute = kinds.get(route) ?? new Map<string, Kind>()
    const { series, line } = ofRoute.get(method + status) ?? prepare(ofRoute, ended)
    series.observe(ms)
    if (status !== 'left') lines.answered(line, requestId, ms, traceId)
  }
}
