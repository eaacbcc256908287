import type { Address } from 'viem'
import { errorText } from '../lib/errors.ts'
import { sleep } from '../lib/lifecycle.ts'
import type { Logger } from '../lib/log.ts'
import type { ChainId } from '../protocol/chains.ts'

/** A deployment that quotes are signed for, and how to read the time of its chain's newest block (Unix seconds) where a node is configured. */
export type SigningDeployment = {
  readonly chainId: ChainId
  readonly diamond: Address
  readonly headTime?: (() => Promise<bigint>) | undefined
}

/** What is known of a chain that quotes may be signed for; times in Unix seconds. */
export type ChainTime = {
  readonly chainId: ChainId
  /** Null when this engine is not configured for the chain. */
  readonly diamondAddress: Address | null
  /** Time of the newest block that was seen; null before the first. */
  readonly newestBlock: number | null
  /** How far the engine's clock was ahead of that block when it was seen. */
  readonly clockAheadSeconds: number | null
  /** Why nothing is signed for the chain, and what to do; null when quotes are signed. */
  readonly reason: string | null
}

export type ChainTimes = {
  of(chainId: ChainId): ChainTime
  /** Reads the newest block of every chain once; a node that fails is reported by `of`. */
  look(): Promise<void>
  /** The same every 2 seconds, until `signal` aborts. */
  watch(signal: AbortSignal): Promise<void>
}

/** Blocks come every 2 seconds at most, and a node may be some seconds behind: a larger difference is the clock's or the chain's fault. */
const MAX_SKEW_SECONDS = 10

const READ_EVERY_MS = 2_000

/** A block that was read longer ago does not show that the chain is still there. */
const MAX_AGE_MS = 15_000

type Sight = { readonly newestBlock: number; readonly ahead: number; readonly seenAt: number }

const isInStep = ({ ahead }: Sight): boolean => Math.abs(ahead) <= MAX_SKEW_SECONDS

/**
 * Holds the engine's clock against the chains it signs for. A quote dated ahead of its chain would become valid later, when rates have moved; so
 * nothing is signed unless a recent block shows the time of the chain and the clock agrees with it. A chain that stands still has no such block
 * either; which of the two it is, another chain shows.
 */
export const createChainTimes = (options: {
  readonly deployments: readonly SigningDeployment[]
  /** Unix milliseconds. */
  readonly now: () => number
  readonly log: Logger
  /** Milliseconds that no one sets: how old a reading is must not depend on the clock in question. */
  readonly elapsed?: () => number
}): ChainTimes => {
  const { deployments, now, log, elapsed = () => performance.now() } = options
  const sights = new Map<ChainId, Sight>()
  const reported = new Map<ChainId, string | null>()

  const recent = (chainId: ChainId): Sight | undefined => {
    const sight = sights.get(chainId)
    return sight !== undefined && elapsed() - sight.seenAt <= MAX_AGE_MS ? sight : undefined
  }

  const reasonOf = (chainId: ChainId): string | null => {
    const deployment = deployments.find((it) => it.chainId === chainId)
    if (deployment === undefined)
      return `the engine is not configured for chain ${chainId}: set DIAMOND_ADDRESS_${chainId}`
    if (deployment.headTime === undefined) return `the engine has no node of chain ${chainId}: set RPC_URLS_${chainId}`
    const sight = recent(chainId)
    if (sight === undefined) return `no node of chain ${chainId} answers the engine: see RPC_URLS_${chainId}`
    if (isInStep(sight)) return null
    if (sight.ahead < 0) {
      return `the engine's clock is ${-sight.ahead} s behind the newest block of chain ${chainId}: set the clock`
    }
    const isClockRight = deployments.some((it) => {
      const other = recent(it.chainId)
      return it.chainId !== chainId && other !== undefined && isInStep(other)
    })
    return isClockRight
      ? `the newest block of chain ${chainId} is ${sight.ahead} s old: the chain stands still, or its nodes are behind`
      : `the engine's clock is ${sight.ahead} s ahead of the newest block of chain ${chainId}: set the clock, unless the chain stands still`
  }

  const report = (chainId: ChainId): void => {
    const reason = reasonOf(chainId)
    const before = reported.get(chainId) ?? null
    // The figure in it changes with every block.
    if ((reason === null) === (before === null)) return
    reported.set(chainId, reason)
    if (reason === null) log.info({ chainId }, 'quotes are signed again')
    else log.error({ chainId, reason }, 'no quote is signed')
  }

  const read = async ({ chainId, headTime }: SigningDeployment): Promise<void> => {
    try {
      if (headTime !== undefined) {
        const newestBlock = Number(await headTime())
        sights.set(chainId, { newestBlock, ahead: Math.floor(now() / 1_000) - newestBlock, seenAt: elapsed() })
      }
    } catch (fault) {
      log.debug({ chainId, fault: errorText(fault) }, 'the newest block is not read')
    }
    report(chainId)
  }

  return {
    of(chainId) {
      const sight = sights.get(chainId)
      return {
        chainId,
        diamondAddress: deployments.find((it) => it.chainId === chainId)?.diamond ?? null,
        newestBlock: sight?.newestBlock ?? null,
        clockAheadSeconds: sight?.ahead ?? null,
        reason: reasonOf(chainId),
      }
    },
    async look() {
      await Promise.all(deployments.map(read))
    },
    async watch(signal) {
      await Promise.all(
        deployments.map(async (deployment) => {
          while (!signal.aborted) {
            await read(deployment)
            await sleep(READ_EVERY_MS, signal)
          }
        }),
      )
    },
  }
}
