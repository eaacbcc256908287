import { NodeUnreachable } from '../errors.ts'
import { isNodeFault } from '../faults.ts'
import { isView, type Request, type ViewRequest } from '../requests.ts'
import type { Outcome } from '../transport.ts'
import type { Merging, NotMerged } from './merging.ts'
import { type Answers, bytesOf, multicall } from './multicall.ts'

/** What merging needs of an endpoint. */
type MergingEndpoint = {
  /** Sends requests as they are; the outcomes follow them one by one. */
  send(requests: readonly Request<unknown>[]): Promise<readonly Outcome<unknown>[]>
  merging(): Merging
  learn(failed: NotMerged): void
}

/** View calls of one block that fit into one merged call. */
type Group = { readonly calls: ViewRequest[]; bytes: number }

const groupsOf = (requests: readonly Request<unknown>[], most: number): Group[] => {
  const groups: Group[] = []
  const open = new Map<string, Group>()
  for (const request of requests) {
    if (!isView(request)) continue
    const { blockHash } = request.view
    const bytes = bytesOf(request.view)
    const group = open.get(blockHash)
    if (group !== undefined && group.bytes + bytes <= most) {
      group.calls.push(request)
      group.bytes += bytes
    } else {
      const begun = { calls: [request], bytes }
      groups.push(begun)
      open.set(blockHash, begun)
    }
  }
  return groups
}

/** A request to send and the handler of its outcome. */
type Part = {
  readonly request: Request<unknown>
  /** Bytes of a merged call; 0 for a request as it is. */
  readonly bytes: number
  take(outcome: Outcome<unknown>): Promise<void> | undefined
}

/** Whether a node or its gateway refused a whole batch for its size. */
const isTooMuch = (failure: unknown): boolean =>
  failure instanceof NodeUnreachable && (failure.fault.kind === 'batch' || failure.fault.kind === 'size')

/**
 * Sends requests with the view calls of each block merged, and returns the outcomes in order. Calls whose answer in a
 * merged call is ambiguous are sent again on their own, and merged calls that the endpoint refuses in smaller parts.
 * Throws what `endpoint.send` throws.
 */
export const sendMerged = async (
  requests: readonly Request<unknown>[],
  endpoint: MergingEndpoint,
): Promise<Outcome<unknown>[]> => {
  const outcomes = new Map<Request<unknown>, Outcome<unknown>>()

  const asItIs = (request: Request<unknown>): Part => ({
    request,
    bytes: 0,
    take: (outcome) => void outcomes.set(request, outcome),
  })

  const merged = ({ calls, bytes }: Group, by: Merging['by']): Part => ({
    request: multicall(by, calls),
    bytes,
    take(outcome: Outcome<Answers>) {
      if (!outcome.ok && isNodeFault(outcome.error.fault)) {
        // A merged call that times out may be too large.
        if (outcome.error.fault.kind === 'unanswered') endpoint.learn({ refused: bytes })
        for (const call of calls) outcomes.set(call, outcome)
        return
      }
      const answers = outcome.ok ? outcome.value : null
      if (answers === null) {
        const isAbsent = outcome.ok && by === 'contract'
        endpoint.learn(isAbsent ? 'absent' : { refused: bytes })
        return isAbsent ? sendAll(calls) : sendAll(calls, Math.floor(bytes / 2))
      }
      const unclear = calls.filter((call, at) => {
        const answer = answers[at] ?? null
        if (answer !== null) outcomes.set(call, answer)
        return answer === null
      })
      if (unclear.length > 0) return sendParts(unclear.map(asItIs))
    },
  })

  const sendParts = async (parts: readonly Part[]): Promise<void> => {
    const answers = await endpoint.send(parts.map(({ request }) => request))
    await Promise.all(answers.map((outcome, at) => parts[at]?.take(outcome)))
  }

  /** Sends requests with merged calls of at most `limit` bytes. */
  const sendAll = async (these: readonly Request<unknown>[], limit = Number.POSITIVE_INFINITY): Promise<void> => {
    const { by, most } = endpoint.merging()
    const groups = groupsOf(these, Math.min(most, limit))
    const many = groups.filter(({ calls }) => calls.length > 1).map((group) => merged(group, by))
    const few = [
      ...these.filter((request) => !isView(request)),
      ...groups.flatMap(({ calls }) => (calls.length > 1 ? [] : calls)),
    ]
    try {
      await sendParts([...few.map(asItIs), ...many])
    } catch (failure) {
      if (!isTooMuch(failure) || many.length === 0) throw failure
      if (few.length > 0) {
        // One of the other requests may be what is too long, which means nothing for merged calls.
        await sendParts(few.map(asItIs))
        return sendAll(
          groups.flatMap(({ calls }) => (calls.length > 1 ? calls : [])),
          limit,
        )
      }
      const refused = Math.max(...many.map(({ bytes }) => bytes))
      endpoint.learn({ refused })
      await sendAll(these, Math.floor(refused / 2))
    }
  }

  await sendAll(requests)
  return requests.map((request) => {
    const outcome = outcomes.get(request)
    if (outcome === undefined) throw new RangeError('every request has an outcome')
    return outcome
  })
}
