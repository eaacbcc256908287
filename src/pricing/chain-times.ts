import type { Address } from 'viem'
import { errorText } from '../lib/errors.ts'
import { sleep } from '../lib/lifecycle.ts'
import type { Logger } from '../lib/observe/log.ts'
import type { ChainId } from '../protocol/chains.ts'

/**
 * A deployment that quotes are signed for. `headTime` reads the time of the chain's newest block (Unix seconds);
 * undefined without a configured node.
 */
export type SigningDeployment = {
  readonly chainId: ChainId
  readonly diamond: Address
  readonly headTime?: (() => Promise<bigint>) | undefined
}

/** The clock comparison for one chain that quotes may be signed for; times in Unix seconds. */
export type ChainTime = {
  readonly chainId: ChainId
  /** Null when this engine is not configured for the chain. */
  readonly diamondAddress: Address | null
  /** Time of the newest block read; null before the first read. */
  readonly newestBlock: number | null
  /** Seconds by which the engine's clock was ahead of that block when it was read. */
  readonly clockAheadSeconds: number | null
  /** Why no quote is signed for the chain, and what to do; null when quotes are signed. */
  readonly reason: string | null
}

export type ChainTimes = {
  of(chainId: ChainId): ChainTime
  /** Reads the newest block of every chain once; a node that fails is reported by `of`. */
  readNewestBlocks(): Promise<void>
  /** Reads the newest blocks every 2 seconds, until `signal` aborts. */
  watch(signal: AbortSignal): Promise<void>
}

/**
 * Blocks are at most 2 seconds apart, and a node may be some seconds behind. A larger difference means a wrong clock or
 * a stalled chain.
 */
const MAX_SKEW_SECONDS = 10

const READ_EVERY_MS = 2_000

/** A block read longer ago does not prove that the chain can still be reached. */
const MAX_AGE_MS = 15_000

type Reading = { readonly newestBlock: number; readonly ahead: number; readonly readAt: number }

const isClockInStep = ({ ahead }: Reading): boolean => Math.abs(ahead) <= MAX_SKEW_SECONDS

/**
 * Compares the engine's clock with the chains it signs for. A quote dated ahead of its chain would become valid later,
 * when rates have moved. Therefore nothing is signed unless a recent block gives the chain's time and the clock agrees
 * with it. A stalled chain and a fast clock give the same difference; a block of another chain decides which one it is.
 */
export const createChainTimes = (options: {
  readonly deployments: readonly SigningDeployment[]
  /** Unix milliseconds. */
  readonly now: () => number
  readonly log: Logger
  /** A monotonic clock in milliseconds: the age of a reading must not depend on the clock that is being checked. */
  readonly elapsed?: () => number
}): ChainTimes => {
  const { deployments, now, log, elapsed = () => performance.now() } = options
  const readings = new Map<ChainId, Reading>()
  const reported = new Map<ChainId, string | null>()

  const recent = (chainId: ChainId): Reading | undefined => {
    const reading = readings.get(chainId)
    return reading !== undefined && elapsed() - reading.readAt <= MAX_AGE_MS ? reading : undefined
  }

  const reasonOf = (chainId: ChainId): string | null => {
    const deployment = deployments.find((it) => it.chainId === chainId)
    if (deployment === undefined)
      return `the engine is not configured for chain ${chainId}: set DIAMOND_ADDRESS_${chainId}`
    if (deployment.headTime === undefined) return `the engine has no node of chain ${chainId}: set RPC_URLS_${chainId}`
    const reading = recent(chainId)
    if (reading === undefined) return `no node of chain ${chainId} answers the engine: check RPC_URLS_${chainId}`
    if (isClockInStep(reading)) return null
    if (reading.ahead < 0) {
      return `the engine's clock is ${-reading.ahead} s behind the newest block of chain ${chainId}: set the clock`
    }
    const isClockRight = deployments.some((it) => {
      const other = recent(it.chainId)
      return other !== undefined && isClockInStep(other)
    })
    return isClockRight
      ? `the newest block of chain ${chainId} is ${reading.ahead} s old: the chain has stalled, or its nodes are behind`
      : `the engine's clock is ${reading.ahead} s ahead of the newest block of chain ${chainId}: set the clock, unless the chain has stalled`
  }

  const report = (chainId: ChainId): void => {
    const reason = reasonOf(chainId)
    const before = reported.get(chainId) ?? null
    // Only a change between null and a reason is logged: the number in a reason changes with every block.
    if ((reason === null) === (before === null)) return
    reported.set(chainId, reason)
    if (reason === null) log.info({ chainId }, 'quotes are signed again')
    else log.error({ chainId, reason }, 'quotes are not signed')
  }

  const read = async ({ chainId, headTime }: SigningDeployment): Promise<void> => {
    try {
      if (headTime !== undefined) {
        const newestBlock = Number(await headTime())
        readings.set(chainId, { newestBlock, ahead: Math.floor(now() / 1_000) - newestBlock, readAt: elapsed() })
      }
    } catch (fault) {
      log.debug({ chainId, fault: errorText(fault) }, 'the newest block cannot be read')
    }
    report(chainId)
  }

  return {
    of(chainId) {
      const reading = readings.get(chainId)
      return {
        chainId,
        diamondAddress: deployments.find((it) => it.chainId === chainId)?.diamond ?? null,
        newestBlock: reading?.newestBlock ?? null,
        clockAheadSeconds: reading?.ahead ?? null,
        reason: reasonOf(chainId),
      }
    },
    async readNewestBlocks() {
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
