import { z } from 'zod'
import { sleep } from '../lib/lifecycle.ts'
import type { Logger } from '../lib/log.ts'
import { createEndpoint, type Outcome, type Outcomes } from './endpoint.ts'
import { type EndpointState, isFit, isLagging, lacks, learn, type Need, type Seen, unseen } from './endpoint-state.ts'
import { NodeUnreachable, redactUrls } from './errors.ts'
import { type Fault, isOfTheNode } from './faults.ts'
import { getBlock, getChainId, type Request } from './requests.ts'
import { type ChainStatus, statusOf } from './status.ts'

export type KeeperOptions = {
  readonly chainId: number
  /** In order of preference. */
  readonly urls: readonly string[]
  readonly timeoutMs: number
  /** Blocks to ask the logs of at first, until answers say better; 2,000 unless given. */
  readonly logWidth?: bigint
  readonly log: Logger
}

/** One endpoint with what is known of it. */
export type Member = {
  readonly index: number
  state(): EndpointState
  lacks(need: Need): boolean
  learn(seen: Seen): void
  /**
   * Sends requests, in as many batches as the node's limit asks for. What the answers say of the node is learned. Throws NodeUnreachable,
   * which is learned too unless `signal` has aborted.
   */
  send<const T extends readonly Request<unknown>[]>(requests: T, signal?: AbortSignal): Promise<Outcomes<T>>
}

/** Keeps the endpoints of one chain: which are up, on the right chain, not behind, and what each can do. */
export type Keeper = {
  /** The endpoints that may be asked now, best first; none when all are down or lack what is needed. */
  fit(needed: readonly Need[]): Promise<Member[]>
  status(): ChainStatus
  close(): Promise<void>
}

/** Every endpoint is looked at so often while there is traffic, used or not: its height tells whether another one lags. */
const LOOK_EVERY_MS = 1_500

/** Where one endpoint is found to be up, the others have so long to be found too. */
const GRACE_MS = 250

const Sighted = z.object({ number: z.bigint(), timestamp: z.bigint() })

/** What a request needs of a node beyond what all nodes do. */
const needOf = ({ method, params: [first, second] }: Request<unknown>): Need | null => {
  if (method === 'eth_getLogs') return 'logs'
  if (first === 'safe' || first === 'finalized') return 'tags'
  return typeof second === 'object' && second !== null ? 'pinned' : null
}

/** The same of a batch. */
export const needsOf = (requests: readonly Request<unknown>[]): Need[] => {
  const needs = new Set(requests.map(needOf))
  return [...needs].filter((need) => need !== null)
}

const createMember = (
  { chainId, timeoutMs, logWidth = 2_000n, log }: KeeperOptions,
  url: string,
  index: number,
): Member & { readonly close: () => Promise<void> } => {
  const endpoint = createEndpoint({ url, timeoutMs })
  let state = unseen(logWidth)

  const tell = (before: EndpointState, seen: Seen): void => {
    const fields = { chainId, node: index }
    if (seen.is === 'chain' && !seen.right) log.error(fields, 'node serves another chain and is set aside')
    if (state.width.blocks < before.width.blocks) {
      log.info({ ...fields, width: state.width.blocks.toString() }, 'asking the node for fewer blocks')
    }
    if (seen.is === 'fault' && isOfTheNode(seen.fault)) {
      log.warn({ ...fields, failures: state.failures, kind: seen.fault.kind, fault: seen.text }, 'node failed')
    }
    for (const need of ['logs', 'tags', 'pinned', 'topics'] as const) {
      if (before.lacks[need]?.until !== state.lacks[need]?.until)
        log.warn({ ...fields, lacks: need }, 'node lacks something')
    }
  }

  const take = (seen: Seen): void => {
    const before = state
    state = learn(state, seen, Date.now())
    tell(before, seen)
  }

  const fault = (of: Fault, text: string, needed: readonly Need[]): void =>
    take({ is: 'fault', fault: of, text: redactUrls(text), needed })

  /** Sends in batches of at most `most`; once more with less when a batch is refused as a whole, which counts when that helps. */
  const split = async (
    requests: readonly Request<unknown>[],
    most: number,
    signal: AbortSignal | undefined,
  ): Promise<Outcome<unknown>[]> => {
    const outcomes: Outcome<unknown>[] = []
    try {
      for (let at = 0; at < requests.length; at += most) {
        outcomes.push(...(await endpoint.send(requests.slice(at, at + most), { signal, alone: most === 1 })))
      }
    } catch (refusal) {
      if (!(refusal instanceof NodeUnreachable) || refusal.fault.kind !== 'batch' || most === 1) throw refusal
      const sent = Math.min(most, requests.length)
      const told = refusal.fault.most
      return split(
        requests,
        told !== null && told < sent ? Math.max(1, told) : Math.max(1, Math.floor(sent / 4)),
        signal,
      )
    }
    if (most < state.batch.most) take({ is: 'batch', most })
    return outcomes
  }

  const notice = (requests: readonly Request<unknown>[], outcomes: readonly Outcome<unknown>[]): void => {
    const faults = new Map<string, { readonly of: Fault; readonly needed: readonly Need[] }>()
    for (const [at, request] of requests.entries()) {
      const outcome = outcomes[at]
      // A batch refused item by item is one refusal.
      if (outcome?.ok === false)
        faults.set(outcome.error.message, { of: outcome.error.fault, needed: needsOf([request]) })
      if (outcome?.ok !== true || request.method !== 'eth_getBlockByNumber' || request.params[0] !== 'latest') continue
      const head = Sighted.safeParse(outcome.value)
      if (head.success) take({ is: 'head', ...head.data })
    }
    const useless = [...faults.values()].some(({ of }) => of.kind === 'unanswered' || of.kind === 'rate')
    if (!useless) take({ is: 'answer' })
    for (const [text, { of, needed }] of faults) if (of.kind !== 'other') fault(of, text, needed)
  }

  return {
    index,
    state: () => state,
    lacks: (need) => lacks(state, need, Date.now()),
    learn: take,
    async send(requests, signal) {
      try {
        const outcomes = await split(requests, state.batch.most, signal)
        notice(requests, outcomes)
        // The tuple type of the outcomes follows the requests one by one; a loop cannot show that to the compiler.
        return outcomes as never
      } catch (failure) {
        if (failure instanceof NodeUnreachable && signal?.aborted !== true) {
          fault(failure.fault, failure.message, needsOf(requests))
        }
        throw failure
      }
    },
    close: endpoint.close,
  }
}

/**
 * Opens the endpoints; nothing is sent until something is asked. An endpoint is looked at (which chain, which block) before it is used,
 * again after it was down, and now and then beside the traffic, so that no reader waits for one that is not back yet.
 */
export const createKeeper = (options: KeeperOptions): Keeper => {
  const stop = new AbortController()
  const members = options.urls.map((url, index) => ({
    ...createMember(options, url, index),
    lookedAt: 0,
    looking: undefined as Promise<void> | undefined,
  }))
  type Kept = (typeof members)[number]

  const lookAt = async (member: Kept): Promise<void> => {
    try {
      const [chain] = await member.send([getChainId(), getBlock('latest')], stop.signal)
      if (chain.ok) member.learn({ is: 'chain', right: chain.value === options.chainId })
      else if (chain.error.fault.kind !== 'rate' && chain.error.fault.kind !== 'unanswered') {
        member.learn({ is: 'fault', fault: { kind: 'garbage' }, text: 'does not tell its chain', needed: [] })
      }
    } catch (failure) {
      if (!(failure instanceof NodeUnreachable)) throw failure
    }
  }

  const look = (member: Kept): Promise<void> => {
    member.lookedAt = Date.now()
    member.looking ??= lookAt(member).finally(() => {
      member.looking = undefined
    })
    return member.looking
  }

  const isOpen = (member: Kept): boolean => isFit(member.state(), Date.now())

  /** Looks at endpoints; over when all have answered, or some have and the others are slow. */
  const find = async (due: readonly Kept[]): Promise<void> => {
    const all = Promise.all(due.map(look))
    const one = Promise.any(due.map((member) => look(member).then(() => isOpen(member) || Promise.reject())))
    await Promise.race([
      all,
      one.then(
        () => sleep(GRACE_MS, stop.signal),
        () => all,
      ),
    ])
  }

  return {
    async fit(needed) {
      const now = Date.now()
      const able = (): Kept[] => members.filter((member) => isOpen(member) && !needed.some(member.lacks))
      const rested = members.filter((member) => !isOpen(member) && member.state().restsUntil <= now)
      const isNew = ({ lookedAt }: Kept): boolean => lookedAt === 0
      if (able().length === 0 || rested.some(isNew)) {
        // One caller waits for a node that was down; for one that was never seen everybody does.
        await find(rested.filter(({ looking, state }) => looking === undefined || state().failures === 0))
      } else {
        const unwatched = members.filter(
          (member) =>
            isOpen(member) && now - Math.max(member.lookedAt, member.state().head?.seenAt ?? 0) > LOOK_EVERY_MS,
        )
        for (const member of [...rested, ...(members.length > 1 ? unwatched : [])]) void look(member)
      }
      const found = able()
      const lagging = (member: Kept): boolean =>
        isLagging(
          member.state(),
          found.map(({ state }) => state()),
        )
      return [...found.filter((member) => !lagging(member)), ...found.filter(lagging)]
    },
    status: () =>
      statusOf(
        members.map(({ state }) => state()),
        Date.now(),
      ),
    async close() {
      stop.abort()
      await Promise.all(members.map(({ looking }) => looking))
      await Promise.all(members.map(({ close }) => close()))
    },
  }
}
