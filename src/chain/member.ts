import { z } from 'zod'
import type { Logger } from '../lib/log.ts'
import { createEndpoint, type Outcome, type Outcomes, type SendOptions } from './endpoint.ts'
import { type EndpointState, learn, type Seen, unseen } from './endpoint-state.ts'
import { NodeUnreachable, redactUrls } from './errors.ts'
import { type Fault, isOfTheNode } from './faults.ts'
import { isLacking, type Need, needs } from './lacks.ts'
import { createLatency, type Latency } from './latency.ts'
import { nodeReports } from './reports.ts'
import type { Request } from './requests.ts'
import { sendMerged } from './send-merged.ts'

export type MemberOptions = {
  readonly chainId: number
  readonly url: string
  /** Its place in the configuration, by which it is told from others in the log. */
  readonly index: number
  readonly timeoutMs: number
  /** Blocks to ask the logs of at first. */
  readonly logWidth: bigint
  readonly log: Logger
}

/** One endpoint with what is known of it. */
export type Member = {
  readonly index: number
  state(): EndpointState
  lacks(need: Need): boolean
  learn(seen: Seen): void
  /** Of requests that others could have answered as well. */
  readonly latency: Latency
  /**
   * Sends requests, view calls of a block merged into one, in as many batches as the node's limit asks for. What the answers say of the node is learned. Throws NodeUnreachable,
   * which is learned too unless the caller's `signal` has aborted.
   */
  send<const T extends readonly Request<unknown>[]>(requests: T, options?: SendOptions): Promise<Outcomes<T>>
  close(): Promise<void>
}

const Sighted = z.object({ number: z.bigint(), timestamp: z.bigint() })

/** What a request needs of a node beyond what all nodes do. */
const needOf = ({ method, params: [first, second] }: Request<unknown>): Need | null => {
  if (method === 'eth_getLogs') return 'logs'
  if (first === 'safe' || first === 'finalized') return 'tags'
  return typeof second === 'object' && second !== null ? 'pinned' : null
}

/** The same of a batch. */
export const needsOf = (requests: readonly Request<unknown>[]): Need[] => {
  const distinct = new Set(requests.map(needOf))
  return [...distinct].filter((need) => need !== null)
}

/** An endpoint that remembers: whatever it says or fails to say is learned. */
export const createMember = ({ chainId, url, index, timeoutMs, logWidth, log }: MemberOptions): Member => {
  const endpoint = createEndpoint({ url, timeoutMs })
  let state = unseen(logWidth)

  const tell = (before: EndpointState, seen: Seen): void => {
    const fields = { chainId, node: index }
    if (state.chain === 'wrong' && before.chain !== 'wrong') {
      log.error(fields, 'node serves another chain and is set aside')
    }
    if (state.width.blocks < before.width.blocks) {
      log.info({ ...fields, width: state.width.blocks.toString() }, 'asking the node for fewer blocks')
    }
    if (seen.is === 'fault' && isOfTheNode(seen.fault)) {
      log.warn({ ...fields, failures: state.failures, kind: seen.fault.kind, fault: seen.text }, 'node failed')
    }
    if (seen.is === 'silent' && state.failures > before.failures) {
      log.warn({ ...fields, failures: state.failures, fault: state.fault }, 'node failed')
    }
    if (state.doubt !== null && state.doubt !== before.doubt) {
      const { why, times, until } = state.doubt
      log.warn(
        { ...fields, why, times, seconds: Math.round((until - Date.now()) / 1_000) },
        'node is doubted and asked last',
      )
    }
    if (state.omission !== null && state.omission !== before.omission) {
      log.warn({ ...fields, why: state.omission.why, times: state.omission.times }, 'node leaves logs out')
    }
    for (const need of needs) {
      const { times = 0 } = state.lacks[need] ?? {}
      if (times > (before.lacks[need]?.times ?? 0)) log.warn({ ...fields, lacks: need }, 'node lacks something')
    }
  }

  const take = (seen: Seen): void => {
    const before = state
    state = learn(state, seen, Date.now())
    tell(before, seen)
    const isSilent =
      ['overtaken', 'silent'].includes(seen.is) || (seen.is === 'fault' && seen.fault.kind === 'unanswered')
    const isDown = isSilent && state.restsUntil > before.restsUntil
    if (isDown) endpoint.renew()
  }

  const fault = (of: Fault, text: string, needed: readonly Need[]): void =>
    take({ is: 'fault', fault: of, text: redactUrls(text), needed })

  /** Sends in batches of at most `most`, all at once when the first was taken. */
  const sendSplit = async (
    requests: readonly Request<unknown>[],
    most: number,
    options: SendOptions,
  ): Promise<Outcome<unknown>[]> => {
    const send = async (from: number) => {
      const part = requests.slice(from, from + most)
      const asked = { chainId, node: index, methods: part.map(({ method }) => method), signal: options.signal }
      const outcomes = await nodeReports.tell(asked, () => endpoint.send(part, { ...options, alone: most === 1 }))
      take({ is: 'response' })
      return outcomes
    }
    const first = await send(0)
    const count = Math.ceil(requests.length / most)
    const others = await Promise.all(Array.from({ length: count - 1 }, (_, at) => send((at + 1) * most)))
    return [first, ...others].flat()
  }

  /** Sends in smaller batches where a batch is refused as a whole; that counts as the node's limit when it helps. */
  const sendFitting = async (
    requests: readonly Request<unknown>[],
    options: SendOptions,
    most = state.batch.most,
  ): Promise<Outcome<unknown>[]> => {
    try {
      const outcomes = await sendSplit(requests, most, options)
      if (most < state.batch.most) take({ is: 'batch', most })
      return outcomes
    } catch (refusal) {
      if (!(refusal instanceof NodeUnreachable) || refusal.fault.kind !== 'batch' || most === 1) throw refusal
      const sent = Math.min(most, requests.length)
      const told = refusal.fault.most
      const fewer = told !== null && told < sent ? told : Math.floor(sent / 4)
      return sendFitting(requests, options, Math.max(1, fewer))
    }
  }

  const notice = (requests: readonly Request<unknown>[], outcomes: readonly Outcome<unknown>[]): void => {
    const served = requests.filter((_, at) => outcomes[at]?.ok)
    // A batch refused item by item is one refusal.
    const faults = new Map<string, { readonly of: Fault; readonly needed: readonly Need[] }>()
    for (const [at, request] of requests.entries()) {
      const outcome = outcomes[at]
      if (outcome?.ok === false) {
        faults.set(outcome.error.message, { of: outcome.error.fault, needed: needsOf([request]) })
      } else if (request.method === 'eth_getBlockByNumber' && request.params[0] === 'latest') {
        const head = Sighted.safeParse(outcome?.value)
        if (head.success) take({ is: 'head', ...head.data })
      }
    }
    const useless = [...faults.values()].some(({ of }) => of.kind === 'unanswered' || of.kind === 'rate')
    if (!useless) take({ is: 'answer', needed: needsOf(served) })
    for (const [text, { of, needed }] of faults) if (of.kind !== 'other') fault(of, text, needed)
  }

  return {
    index,
    state: () => state,
    lacks: (need) => isLacking(state.lacks, need, Date.now()),
    learn: take,
    latency: createLatency(),
    async send(requests, options = {}) {
      try {
        const outcomes = await sendMerged(requests, {
          async send(parts) {
            const said = await sendFitting(parts, options)
            notice(parts, said)
            return said
          },
          merging: () => state.merging,
          learn: (came) => take({ is: 'merged', came }),
        })
        // The tuple type of the outcomes follows the requests one by one; a loop cannot show that to the compiler.
        return outcomes as never
      } catch (failure) {
        if (failure instanceof NodeUnreachable && options.signal?.aborted !== true) {
          fault(failure.fault, failure.message, needsOf(requests))
        }
        throw failure
      }
    },
    close: endpoint.close,
  }
}
