import { errorText } from '../../lib/errors.ts'
import { sleep } from '../../lib/lifecycle.ts'
import type { Logger } from '../../lib/observe/log.ts'
import { createSingleFlight } from '../../lib/single-flight.ts'
import type { RequiredCapability } from '../endpoints/capabilities.ts'
import { createEndpoint, type Endpoint } from '../endpoints/endpoint.ts'
import { type Rank, rankOf, ranks } from '../endpoints/ranking.ts'
import { isAvailable } from '../endpoints/state.ts'
import { type ChainStatus, logWidthOf, statusOf } from '../endpoints/status.ts'
import { NodeUnreachable, redactUrls } from '../rpc/errors.ts'
import { getBlock, getChainId } from '../rpc/requests.ts'

export type EndpointRegistryOptions = {
  readonly chainId: number
  /** In order of preference. */
  readonly urls: readonly string[]
  readonly timeoutMs: number
  /** Blocks in the first request for logs; 100 unless given. Answers adjust it. */
  readonly logWidth?: bigint
  readonly log: Logger
  /** Opens an endpoint; `createEndpoint` unless given. */
  readonly open?: typeof createEndpoint
}

/** An endpoint with its rank among the others. */
export type RankedEndpoint = { readonly endpoint: Endpoint; readonly rank: Rank }

/** The endpoints of one chain: which are available, on the right chain and up to date, and what each can do. */
export type EndpointRegistry = {
  /** The available endpoints that do not miss a needed capability, best rank first. */
  ranked(needed: readonly RequiredCapability[]): Promise<RankedEndpoint[]>
  /** Ranks the endpoint of this index last for a while; `why` names the contradiction and is logged without URLs. */
  penalize(endpoint: number, why: string): void
  /**
   * Ranks the endpoint of this index, which left logs out, below those that did not, for as long as a penalty lasts.
   */
  reportMissingLogs(endpoint: number, why: string): void
  /** The smallest log width among the endpoints that serve logs; null when none serves them. */
  logWidth(): bigint | null
  status(): ChainStatus
  /** Probes the endpoints whose height was not read recently and that are not paused. Takes a second at most. */
  refresh(): Promise<void>
  /**
   * Asks an endpoint in the background for its newest block, one such request at a time. It counts as down when it does
   * not answer within `withinMs` milliseconds and has not answered anything else meanwhile.
   */
  checkLiveness(endpoint: Endpoint, withinMs: number): void
  close(): Promise<void>
}

/** Small, because only the first answer shows how dense the logs are. */
const FIRST_LOG_WIDTH = 100n

/**
 * How often every endpoint is probed while there is traffic, also unused ones: their heights show which endpoint lags.
 * While the newest known block is of the last seconds, no endpoint that is used does.
 */
const PROBE_EVERY_MS = { current: 15_000, old: 1_500 }
const OLD_SECONDS = 5

/** The time-out of a probe: an endpoint that works answers such a small request in a second. */
const PROBE_TIMEOUT_MS = 1_000

/** A clock that goes back by more than this was set back, in milliseconds. */
const SET_BACK_MS = 1_000

/** Once one endpoint has answered its probe, the others have this long to answer theirs. */
const GRACE_MS = 250

/**
 * Opens the endpoints without sending anything. A probe (chain id, newest block) precedes the first use of an endpoint
 * and its first use after it was down. Further probes run in the background, so no reader waits for an endpoint that is
 * still down.
 */
export const createEndpointRegistry = ({
  open = createEndpoint,
  ...options
}: EndpointRegistryOptions): EndpointRegistry => {
  const probes = new Set<AbortController>()
  const members = options.urls.map((url, index) => ({
    ...open({ ...options, url, index, logWidth: options.logWidth ?? FIRST_LOG_WIDTH }),
    probedAt: 0,
    probing: undefined as Promise<void> | undefined,
  }))
  type Member = (typeof members)[number]
  let lastAsked = 0

  const sendProbe = async (member: Member): Promise<void> => {
    const ended = new AbortController()
    probes.add(ended)
    try {
      const { chain } = await member.send(
        { chain: getChainId(), head: getBlock('latest') },
        { signal: ended.signal, timeoutMs: PROBE_TIMEOUT_MS },
      )
      if (chain.ok) member.learn({ is: 'chain', right: chain.value === options.chainId })
      else if (chain.error.fault.kind !== 'rate' && chain.error.fault.kind !== 'unanswered') {
        member.learn({ is: 'fault', fault: { kind: 'garbage' }, text: 'no valid chain id', needed: [] })
      }
    } catch (failure) {
      if (!(failure instanceof NodeUnreachable)) throw failure
    } finally {
      probes.delete(ended)
    }
  }

  const probe = (member: Member): Promise<void> => {
    member.probedAt = Date.now()
    member.probing ??= sendProbe(member).finally(() => {
      member.probing = undefined
    })
    return member.probing
  }

  /** Only a programming error gets here: what a node does wrong is part of its state. */
  const logFault = (member: Endpoint) => (fault: unknown) =>
    options.log.error(
      { chainId: options.chainId, node: member.index, fault: errorText(fault) },
      'probe of a node failed',
    )

  const inBackground = (member: Member): void => void probe(member).catch(logFault(member))

  const checkLiveness = async (member: Endpoint, withinMs: number): Promise<void> => {
    const since = Date.now()
    try {
      await member.send({ chain: getChainId(), head: getBlock('latest') }, { signal: AbortSignal.timeout(withinMs) })
    } catch (failure) {
      if (!(failure instanceof NodeUnreachable)) throw failure
      member.learn({ is: 'silent', since })
    }
  }
  const oneLivenessCheck = createSingleFlight<void>()

  /** When the height of an endpoint was last read. */
  const readAt = ({ probedAt, state }: Member): number => Math.max(probedAt, state().head?.seenAt ?? 0)

  const isUsable = (member: Member): boolean => isAvailable(member.state(), Date.now())

  /** Waits until all of these endpoints are probed or, once one is usable, for `GRACE_MS` more. */
  const probeAll = async (due: readonly Member[]): Promise<void> => {
    const all = Promise.all(due.map(probe))
    const one = Promise.any(due.map((member) => probe(member).then(() => isUsable(member) || Promise.reject())))
    await Promise.race([
      all,
      one.then(
        () => sleep(GRACE_MS),
        () => all,
      ),
    ])
  }

  /** A pause or a penalty must not last until the clock is where it was before it was set back. */
  const readClock = (): number => {
    const now = Date.now()
    if (now < lastAsked - SET_BACK_MS)
      for (const member of members) {
        member.learn({ is: 'clock set back' })
        member.probedAt = 0
      }
    lastAsked = now
    return now
  }

  const ranked = async (needed: readonly RequiredCapability[]): Promise<RankedEndpoint[]> => {
    const now = readClock()
    const able = (): Member[] => members.filter((member) => isUsable(member) && !needed.some(member.isMissing))
    const unusable = members.filter((member) => !isUsable(member) && member.state().pausedUntil <= now)
    const isNew = ({ probedAt }: Member): boolean => probedAt === 0
    // A caller only waits for endpoints that were never probed, or for all when none is usable. Others are probed in
    // the background.
    const isNone = able().length === 0
    const unknown = unusable.filter((member) => isNew(member) || (isNone && member.state().failures === 0))
    const isOld = members.every(({ state }) => now / 1_000 - Number(state().head?.timestamp ?? 0) > OLD_SECONDS)
    const everyMs = isOld ? PROBE_EVERY_MS.old : PROBE_EVERY_MS.current
    const outdated = members.filter((member) => isUsable(member) && now - readAt(member) > everyMs)
    for (const member of [...unusable, ...(members.length > 1 ? outdated : [])]) inBackground(member)
    if (unknown.length > 0) await probeAll(unknown)
    const found = able()
    const states = found.map(({ state }) => state())
    return found
      .map((endpoint) => ({ endpoint, rank: rankOf(endpoint.state(), states, Date.now()) }))
      .toSorted((a, b) => ranks.indexOf(a.rank) - ranks.indexOf(b.rank))
  }

  const status = (): ChainStatus => {
    const states = members.map(({ state }) => state())
    return statusOf(states, Date.now())
  }

  return {
    ranked,
    penalize(endpoint, why) {
      members[endpoint]?.learn({ is: 'contradiction', why: redactUrls(why) })
    },
    reportMissingLogs(endpoint, why) {
      members[endpoint]?.learn({ is: 'missing logs', why })
    },
    logWidth: () => logWidthOf(status()),
    status,
    async refresh() {
      const now = Date.now()
      const isOutdated = (member: Member): boolean =>
        member.state().pausedUntil <= now && now - readAt(member) > PROBE_EVERY_MS.old
      await Promise.race([Promise.all(members.filter(isOutdated).map(probe)), sleep(PROBE_TIMEOUT_MS)])
    },
    checkLiveness(endpoint, withinMs) {
      oneLivenessCheck(String(endpoint.index), () => checkLiveness(endpoint, withinMs)).catch(logFault(endpoint))
    },
    async close() {
      for (const each of probes) each.abort()
      await Promise.all(members.map(({ probing }) => probing))
      await Promise.all(members.map(({ close }) => close()))
    },
  }
}
