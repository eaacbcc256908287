import { z } from 'zod'
import { MAX_CHAINS, PathChainId } from '../../protocol/chains.ts'
import { Address20, PathInteger, QueryMoment } from '../../protocol/fields/request-fields.ts'
import { choice, choices, formatField, listOf } from '../lists/query.ts'
import { depositFigures, eventFigures, walletFigures } from './figures.ts'
import { protocolFigures } from './protocol-figures.ts'
import { intervalNames, MAX_POINTS } from './times.ts'

const MOMENT = 'A block number (below 1,000,000,000), a time in Unix seconds, or an ISO 8601 time'

const namesOf = <N extends string>(figures: Readonly<Record<N, unknown>>) => Object.keys(figures) as [N, ...N[]]

const seriesQuery = <N extends string, const I extends readonly string[]>(
  figures: Readonly<Record<N, unknown>>,
  intervals: I,
) => ({
  metric: choices(namesOf(figures)).optional().meta({ description: 'The figures of each point; all when omitted' }),
  interval: choice(intervals)
    .optional()
    .meta({
      description: `Each point is as of the last second of an interval, and the last one as of \`to\`; \`day\` by default. Hours and days are those of UTC, and weeks end with Sunday. ${intervals.includes('change') ? '`change`: the creation, and each later change. ' : ''}At most ${MAX_POINTS} points`,
    }),
  from: QueryMoment.optional().meta({ description: `The earliest moment; the creation when omitted. ${MOMENT}` }),
  to: QueryMoment.optional().meta({
    description: `The latest moment; the newest indexed block when omitted, and for a time that is not before it. ${MOMENT}`,
  }),
  ...formatField,
})

export const EntityParams = z.object({ chainId: PathChainId, id: PathInteger })
export const WalletParams = z.object({ addr: Address20 })

export const EventSeriesQuery = z.object(seriesQuery(eventFigures, [...intervalNames, 'change']))
export const DepositSeriesQuery = z.object(seriesQuery(depositFigures, [...intervalNames, 'change']))
export const WalletSeriesQuery = z.object({
  chainId: listOf(PathChainId, MAX_CHAINS).optional().meta({ description: 'The chains; all chains when omitted' }),
  ...seriesQuery(walletFigures, intervalNames),
})

export const ProtocolSeriesQuery = z.object({
  chainId: listOf(PathChainId, MAX_CHAINS).optional().meta({ description: 'The chains; all chains when omitted' }),
  ...seriesQuery(protocolFigures, ['day', 'week']),
})
