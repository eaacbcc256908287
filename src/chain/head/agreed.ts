import { isStopped } from '../endpoints/ranking.ts'
import type { Batch, EndpointAnswer } from '../rpc/batch.ts'
import { type Block, getBlock } from '../rpc/requests.ts'
import type { Outcome } from '../rpc/transport.ts'

/** The answers of all endpoints to one batch. */
export type QueryAll = <const B extends Batch>(batch: B) => Promise<readonly EndpointAnswer<B>[]>

type BlockOutcome = Outcome<Block | null> | undefined

const blockIn = (outcome: BlockOutcome): Block | null => (outcome?.ok ? outcome.value : null)

/** The hash of the block in an answer; undefined without one. */
export const hashIn = (outcome: BlockOutcome): string | undefined => blockIn(outcome)?.hash

/** The block that two endpoints have at a height, `preferred` if it is one; undefined without one. */
const sharedBlock = (blocks: readonly Block[], preferred: string | undefined): Block | undefined => {
  const withHash = (hash: string | undefined) => blocks.filter((block) => block.hash === hash)
  const shared = blocks.filter(({ hash }) => withHash(hash).length > 1)
  const { hash } = shared.find((it) => it.hash === preferred) ?? shared[0] ?? {}
  // A node that returns an early time for it would leave more time for its claim.
  return withHash(hash).sort((a, b) => Number(b.timestamp - a.timestamp))[0]
}

/**
 * Asks all endpoints about a head that one of them claims.
 *
 * `block`: the highest block among their heads that two of them have, or the claim if the only one that answers returns
 * it and the block before it by their numbers; null without one. `isOutvoted`: two of them have another block than the
 * claiming one, at the height of the claim or a few seconds below it, and no two have its block there. Throws
 * `service_unavailable` when no endpoint answers.
 */
export const agreeOnHead = async (
  deps: {
    readonly queryAll: QueryAll
    readonly isAlone: boolean
    /** In milliseconds since the epoch. */
    readonly now: () => number
  },
  claim: Block,
  endpoint: number,
): Promise<{ readonly block: Block | null; readonly isOutvoted: boolean }> => {
  const { queryAll, isAlone, now } = deps
  const heads = isAlone ? [] : await queryAll({ latest: getBlock('latest') })
  const claims = heads.flatMap(({ outcomes: { latest } }) => blockIn(latest) ?? [])
  const heights = [...new Set([claim, ...claims].map(({ number }) => number))].sort((a, b) => (a > b ? -1 : 1))
  // A later request than the one for the claim: a block that was made up is unknown by now.
  const answers = await queryAll({
    blocks: heights.map((number) => getBlock(number)),
    before: getBlock(claim.number === 0n ? 0n : claim.number - 1n),
  })
  const atClaim = heights.indexOf(claim.number)
  const [only, ...others] = answers.map(({ outcomes }) => outcomes)
  if (only === undefined) return { block: null, isOutvoted: false }
  if (others.length === 0) {
    const isKept = hashIn(only.blocks[atClaim]) === claim.hash && hashIn(only.before) !== undefined
    return { block: isKept ? claim : null, isOutvoted: false }
  }
  const own = answers.find((it) => it.endpoint === endpoint)?.outcomes.blocks
  const ownHashAt = (at: number): string | undefined => (at === atClaim ? claim.hash : hashIn(own?.[at]))
  const sharedAt = heights.map((_, at) =>
    sharedBlock(
      [only, ...others].flatMap(({ blocks }) => blockIn(blocks[at]) ?? []),
      ownHashAt(at),
    ),
  )
  const isOther = (shared: Block | undefined, at: number): boolean => {
    if (shared === undefined) return false
    const ownHash = ownHashAt(at)
    if (at === atClaim) return shared.hash !== ownHash
    return ownHash !== undefined && ownHash !== shared.hash && !isStopped(shared.timestamp, claim.timestamp, now())
  }
  return { block: sharedAt.find((shared) => shared !== undefined) ?? null, isOutvoted: sharedAt.some(isOther) }
}
