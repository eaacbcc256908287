import type { z } from 'zod'
import { PathInteger, QueryMoment } from '../../protocol/fields/request-fields.ts'
import { ledgerTypeNames } from '../../protocol/ledger.ts'
import { consistency } from '../freshness/consistency.ts'
import { finalities } from '../freshness/finality.ts'
import { choice, choices, listQuery, MAX_WALLETS, Wallets } from '../lists/query.ts'

const MOMENT =
  'A block number (below 1,000,000,000; requires one `chainId`), a time in Unix seconds, or an ISO 8601 time; a date is its first moment in UTC'

export const ActivityQuery = listQuery({
  wallet: Wallets.optional().meta({ description: `Return activity of these wallets, at most ${MAX_WALLETS}` }),
  eventId: PathInteger.optional().meta({
    description: 'Return activity of this event, its deposits and its positions',
  }),
  depositId: PathInteger.optional().meta({ description: 'Return activity of this deposit' }),
  positionId: PathInteger.optional().meta({ description: 'Return activity of this position' }),
  type: choices(ledgerTypeNames).optional().meta({ description: 'Return activity of these types' }),
  from: QueryMoment.optional().meta({ description: `The earliest block, inclusive. ${MOMENT}` }),
  to: QueryMoment.optional().meta({ description: `The latest block, inclusive. ${MOMENT}` }),
  finality: choice(finalities).optional().meta({
    description: 'Return activity of blocks of at least this finality; `latest` by default',
  }),
  ...consistency,
})

export type ActivityQuery = z.output<typeof ActivityQuery>
