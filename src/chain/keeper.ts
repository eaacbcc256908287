import { sleep } from '../lib/lifecycle.ts'
import type { Logger } from '../lib/log.ts'
import { isFit, isLagging, type Need } from './endpoint-state.ts'
import { NodeUnreachable } from './errors.ts'
import { createMember, type Member } from './member.ts'
import { getBlock, getChainId } from './requests.ts'
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

/** Keeps the endpoints of one chain: which are up, on the right chain, not behind, and what each can do. */
export type Keeper = {
  /** The endpoints that may be asked now, best first; none when all are down or lack what is needed. */
  fit(needed: readonly Need[]): Promise<Member[]>
  status(): ChainStatus
  close(): Promise<void>
}

const FIRST_LOG_WIDTH = 2_000n

/** Every endpoint is looked at so often while there is traffic, used or not: its height tells whether another one lags. */
const LOOK_EVERY_MS = 1_500

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
      const [chain] = await member.send([getChainId(), getBlock('latest')], look.signal)
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
      const states = found.map(({ state }) => state())
      const lagging = (member: Kept): boolean => isLagging(member.state(), states)
      return [...found.filter((member) => !lagging(member)), ...found.filter(lagging)]
    },
    status() {
      const states = members.map(({ state }) => state())
      return statusOf(states, Date.now())
    },
    async close() {
      for (const each of looks) each.abort()
      await Promise.all(members.map(({ looking }) => looking))
      await Promise.all(members.map(({ close }) => close()))
    },
  }
}
