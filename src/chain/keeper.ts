import { sleep } from '../lib/lifecycle.ts'
import type { Logger } from '../lib/log.ts'
import { isFit } from './endpoint-state.ts'
import { NodeUnreachable, redactUrls } from './errors.ts'
import type { Need } from './lacks.ts'
import { createMember, type Member } from './member.ts'
import { getBlock, getChainId } from './requests.ts'
import { isSeeing, type Standing, standingOf, standings } from './standing.ts'
import { type ChainStatus, logWidthOf, statusOf } from './status.ts'

export type KeeperOptions = {
  readonly chainId: number
  /** In order of preference. */
  readonly urls: readonly string[]
  readonly timeoutMs: number
  /** Blocks to ask the logs of at first, until answers say better; 100 unless given. */
  readonly logWidth?: bigint
  readonly log: Logger
}

/** An endpoint, and what it is next to the others. */
type Found = { readonly member: Member; readonly standing: Standing }

/** Keeps the endpoints of one chain: which are up, on the right chain, not behind, and what each can do. */
export type Keeper = {
  /** The endpoints that may be asked now, best first; none when all are down or lack what is needed. */
  fit(needed: readonly Need[]): Promise<Found[]>
  /** The same, without those that lag where there is one that neither lags nor is doubted: they have not seen yet what is asked about. */
  witnesses(needed: readonly Need[]): Promise<Member[]>
  /** Has the endpoint of this index asked last for a while: `why` tells what it contradicted. */
  doubt(endpoint: number, why: string): void
  /** Has the endpoint of this index, which left logs out, asked after those that did not, for as long as a doubt takes. */
  forgot(endpoint: number, why: string): void
  /** The fewest blocks that an endpoint which serves logs is asked for at once; null when none serves them. */
  logWidth(): bigint | null
  status(): ChainStatus
  /** Probes the endpoints whose height was not read for a while and that are not resting; over after a second at most. */
  refresh(): Promise<void>
  close(): Promise<void>
}

/** Few, for the first answer tells how dense the logs are. */
const FIRST_LOG_WIDTH = 100n

/** Every endpoint is looked at so often while there is traffic, used or not: its height tells whether another one lags. */
const LOOK_EVERY_MS = 1_500

/** A look is a small question: whatever is up answers it in a second. Whoever waits for longer finds a node that is back later. */
const LOOK_MS = 1_000

/** Where one endpoint is found to be up, the others have so long to be found too. */
const GRACE_MS = 250

/**
 * Opens the endpoints; nothing is sent until something is asked. An endpoint is looked at (which chain, which block) before it is used,
 * again after it was down, and now and then beside the traffic, so that no reader waits for one that is not back yet.
 */
export const createKeeper = (options: KeeperOptions): Keeper => {
  const looks = new Set<AbortController>()
  const members = options.urls.map((url, index) => ({
    ...createMember({ ...options, url, index, logWidth: options.logWidth ?? FIRST_LOG_WIDTH }),
    lookedAt: 0,
    looking: undefined as Promise<void> | undefined,
  }))
  type Kept = (typeof members)[number]

  const lookAt = async (member: Kept): Promise<void> => {
    const look = new AbortController()
    looks.add(look)
    try {
      const [chain] = await member.send([getChainId(), getBlock('latest')], { signal: look.signal, timeoutMs: LOOK_MS })
      if (chain.ok) member.learn({ is: 'chain', right: chain.value === options.chainId })
      else if (chain.error.fault.kind !== 'rate' && chain.error.fault.kind !== 'unanswered') {
        member.learn({ is: 'fault', fault: { kind: 'garbage' }, text: 'does not tell its chain', needed: [] })
      }
    } catch (failure) {
      if (!(failure instanceof NodeUnreachable)) throw failure
    } finally {
      looks.delete(look)
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
        () => sleep(GRACE_MS),
        () => all,
      ),
    ])
  }

  /** Those that may be asked now, best first. */
  const findFit = async (needed: readonly Need[]): Promise<Found[]> => {
    const now = Date.now()
    const able = (): Kept[] => members.filter((member) => isOpen(member) && !needed.some(member.lacks))
    const rested = members.filter((member) => !isOpen(member) && member.state().restsUntil <= now)
    const isNew = ({ lookedAt }: Kept): boolean => lookedAt === 0
    // Whoever asks waits for those that nobody has seen yet, and for no other: a look beside the traffic finds what is back.
    const isNone = able().length === 0
    const unknown = rested.filter((member) => isNew(member) || (isNone && member.state().failures === 0))
    const unwatched = members.filter(
      (member) => isOpen(member) && now - Math.max(member.lookedAt, member.state().head?.seenAt ?? 0) > LOOK_EVERY_MS,
    )
    for (const member of [...rested, ...(members.length > 1 ? unwatched : [])]) void look(member)
    if (unknown.length > 0) await find(unknown)
    const found = able()
    const states = found.map(({ state }) => state())
    return found
      .map((member) => ({ member, standing: standingOf(member.state(), states, Date.now()) }))
      .toSorted((a, b) => standings.indexOf(a.standing) - standings.indexOf(b.standing))
  }

  return {
    fit: findFit,
    async witnesses(needed) {
      const found = await findFit(needed)
      const isSeen = found.some(({ standing }) => isSeeing(standing))
      return found.filter(({ standing }) => !isSeen || standing !== 'lagging').map(({ member }) => member)
    },
    doubt(endpoint, why) {
      members[endpoint]?.learn({ is: 'doubt', why: redactUrls(why) })
    },
    forgot(endpoint, why) {
      members[endpoint]?.learn({ is: 'omission', why })
    },
    logWidth() {
      const states = members.map(({ state }) => state())
      return logWidthOf(states, Date.now())
    },
    status() {
      const states = members.map(({ state }) => state())
      return statusOf(states, Date.now())
    },
    async refresh() {
      const now = Date.now()
      const isDue = ({ lookedAt, state }: Kept): boolean =>
        state().restsUntil <= now && now - Math.max(lookedAt, state().head?.seenAt ?? 0) > LOOK_EVERY_MS
      await Promise.race([Promise.all(members.filter(isDue).map(look)), sleep(LOOK_MS)])
    },
    async close() {
      for (const each of looks) each.abort()
      await Promise.all(members.map(({ looking }) => looking))
      await Promise.all(members.map(({ close }) => close()))
    },
  }
}
