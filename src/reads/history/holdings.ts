import type { Block } from '../../chain/rpc/requests.ts'
import type { Holding } from '../../db/queries/portfolios.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { entities, type Kind } from '../../protocol/entities.ts'
import { ACTIVE } from '../../protocol/records.ts'
import type { PastSources } from './block-at.ts'
import { InexactPast, type PastEvent, requireProven, withNodes } from './past.ts'
import { eventsOfRows, requireAllDated, rowOfEvent } from './rows.ts'

/** The state of an event at a block. */
type At = Pick<PastEvent, 'fold'> & { readonly block: Pick<Block, 'timestamp'> }

/** What a holding is at a block: its figures in the order of `figureNames`, and whether it counts as active. */
type AtBlock = Pick<Holding, 'figures' | 'isClaimable'> & { readonly isActive: boolean }

export const heldAt: Readonly<Record<Kind, (event: At, holding: Holding) => AtBlock>> = {
  event({ fold, block }) {
    const { creatorEarnings, settledAt } = fold.event(block.timestamp)
    if (creatorEarnings === null) throw new InexactPast('the fee rates of an event are not known')
    const isClaimable = creatorEarnings > 0n
    return { figures: [creatorEarnings], isClaimable, isActive: settledAt === 0n || isClaimable }
  },
  deposit({ fold, block }, { row }) {
    const { deposited = 0n, remaining = 0n } = fold.capital(BigInt(row.id)) ?? {}
    const { pending = 0n, withdrawn = true } = fold.deposit(BigInt(row.id)) ?? {}
    const isWithdrawable = !withdrawn && fold.event(block.timestamp).settledAt > 0n
    return {
      figures: [deposited, pending, isWithdrawable ? remaining : 0n],
      isClaimable: pending > 0n || isWithdrawable,
      isActive: !withdrawn || pending > 0n,
    }
  },
  position({ fold, block }, { row, figures: [notional = 0n, premiumPaid = 0n] }) {
    const { payoutAmount = 0n, status = ACTIVE, claimed = true } = fold.position(BigInt(row.id)) ?? {}
    const isClaimable = !claimed && payoutAmount > 0n && status !== ACTIVE
    const isOpen = fold.event(block.timestamp).settledAt === 0n
    const figures = [notional, premiumPaid, isClaimable ? payoutAmount : 0n]
    return { figures, isClaimable, isActive: !claimed && (isOpen || isClaimable) }
  },
}

/** The rate by which the claims of each kind that have a fee pay it. */
const feeRateName = {
  event: null,
  deposit: entities.deposit.claims.premiums.feeRate,
  position: entities.position.claims.payout.feeRate,
} as const

/**
 * Makes holdings of a kind, all created at or before the blocks of their chains, as of these blocks. With `activeOnly`,
 * those are left out that are not active at them. Throws `service_unavailable` with the reason when the ledger does not lead to
 * one of them.
 */
export const holdingsAt = (
  sources: PastSources,
  {
    kind,
    activeOnly,
    include,
  }: { readonly kind: Kind; readonly activeOnly: boolean } & Pick<Parameters<typeof rowOfEvent>[0], 'include'>,
  holdings: readonly Holding[],
  blocks: ReadonlyMap<ChainId, Block>,
): Promise<Holding[]> =>
  withNodes(async () => {
    await requireAllDated(sources, kind, blocks)
    const eventOf = await eventsOfRows(
      sources,
      holdings.map(({ row }) => row),
      blocks,
    )
    const made: Holding[] = []
    for (const holding of holdings) {
      const event = requireProven(eventOf(holding.row), holding.row.eventId)
      const { isActive, ...held } = heldAt[kind](event, holding)
      if (activeOnly && !isActive) continue
      const rate = feeRateName[kind]
      const feeRate = rate === null ? holding.feeRate : (event.rates?.[rate] ?? 'rates_unknown')
      made.push({ ...holding, ...held, feeRate, row: rowOfEvent({ kind, include }, holding.row, event) })
    }
    return made
  })
