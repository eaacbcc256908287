import { Agent, request } from 'undici'
import { z } from 'zod'
import { invalid, type ServiceError, unavailable, upstream } from '../lib/errors.ts'
import { ErrorBody } from '../lib/problem.ts'
import { Health, Quote, type QuoteRequest, Signer } from './contract.ts'

/** Longest the engine's answers may be, in bytes: that of health has a line a pair. */
const MOST_BYTES = 2 ** 20

const Envelope = z.object({ data: z.unknown() })

export type PricingClient = {
  quote(request: QuoteRequest): Promise<Quote>
  health(): Promise<Health>
  signer(): Promise<z.output<typeof Signer>>
  close(): Promise<void>
}

type Answer = { readonly status: number; readonly json: unknown }

/** What an answer that is no success says to the client: the engine's own words where it refused the request. */
const refusal = ({ status, json }: Answer): ServiceError => {
  const error = ErrorBody.safeParse(json).data?.error
  if (status < 500 && error?.code === 'validation_error') return invalid(error.message, error.details ?? [])
  if (status === 503) return unavailable('the pricing engine is not available')
  return upstream(`the pricing engine failed: ${error?.message ?? `status ${status}`}`)
}

/** The engine took the request and ended without an answer, or with one without end: it failed, which is more than being away. */
const brokenOff = ['UND_ERR_SOCKET', 'ECONNRESET', 'UND_ERR_RES_EXCEEDED_MAX_SIZE']
const brokeOff = (fault: unknown): boolean =>
  fault instanceof Error && 'code' in fault && brokenOff.some((code) => code === fault.code)

/**
 * The pricing engine behind a URL. Its refusals come through with their message (`validation_error`); it is `upstream_error` when it fails
 * or answers in another shape, and `service_unavailable` when nobody answers within `timeoutMs`.
 *
 * @example
 * const pricing = createPricingClient({ url: 'http://127.0.0.1:3100', timeoutMs: 5_000 })
 * const { premiumRateFixed6 } = await pricing.quote(request)
 */
export const createPricingClient = (options: { readonly url: string; readonly timeoutMs: number }): PricingClient => {
  const dispatcher = new Agent({ maxResponseSize: MOST_BYTES, connections: 64 })

  const ask = async (method: 'GET' | 'POST', path: string, body?: object): Promise<Answer> => {
    let text: string
    let status: number
    try {
      const response = await request(`${options.url.replace(/\/$/, '')}${path}`, {
        method,
        dispatcher,
        signal: AbortSignal.timeout(options.timeoutMs),
        ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      })
      status = response.statusCode
      text = await response.body.text()
    } catch (cause) {
      throw brokeOff(cause)
        ? upstream('the pricing engine broke off its answer', cause)
        : unavailable('the pricing engine is out of reach', cause)
    }
    try {
      return { status, json: JSON.parse(text) }
    } catch {
      return { status, json: undefined }
    }
  }

  const dataOf = <D extends z.ZodType>(data: D, answer: Answer): z.output<D> => {
    if (answer.status !== 200) throw refusal(answer)
    const parsed = data.safeParse(Envelope.safeParse(answer.json).data?.data)
    if (!parsed.success) throw upstream('the pricing engine gave an answer of another shape', parsed.error)
    return parsed.data
  }

  return {
    quote: async (body) => dataOf(Quote, await ask('POST', '/quote', body)),
    health: async () => dataOf(Health, await ask('GET', '/health')),
    signer: async () => dataOf(Signer, await ask('GET', '/signer')),
    close: () => dispatcher.close(),
  }
}
