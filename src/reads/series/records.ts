import { z } from 'zod'
import { OfChain } from '../../protocol/chains.ts'
import { Integer, UnixSeconds } from '../../protocol/fields/response-fields.ts'
import { BlockNumber, Hash, tokenFields } from '../lists/records.ts'
import { depositFigures, eventFigures, walletFigures } from './figures.ts'
import { protocolFigures } from './protocol-figures.ts'
import { intervalNames } from './times.ts'

/** A point with these figures, of which `metric` can select some. */
const pointOf = (id: string, figures: Readonly<Record<string, { readonly schema: z.ZodType }>>) =>
  z
    .object({
      chainId: OfChain,
      ...tokenFields,
      time: UnixSeconds.meta({ description: 'The moment that the point is as of' }),
      ...Object.fromEntries(Object.entries(figures).map(([name, { schema }]) => [name, schema.optional()])),
    })
    .meta({ id })

export const EventPoint = pointOf('EventPoint', eventFigures)
export const DepositPoint = pointOf('DepositPoint', depositFigures)
export const ProtocolPoint = pointOf('ProtocolPoint', protocolFigures)
export const WalletPoint = pointOf('WalletPoint', walletFigures)

export type Point = Readonly<Record<string, unknown>>

const SeriesMeta = z
  .object({
    interval: z.enum([...intervalNames, 'change']),
    from: UnixSeconds,
    to: z
      .array(z.object({ chainId: OfChain, blockNumber: BlockNumber, blockHash: Hash, blockTimestamp: UnixSeconds }))
      .meta({
        description: 'The last block not after `to`, on each chain',
      }),
    points: Integer,
  })
  .meta({ id: 'SeriesMeta' })

export type SeriesMeta = z.output<typeof SeriesMeta>

/** The body of a series. */
export const seriesBody = (point: z.ZodObject) => z.object({ data: z.array(point), meta: SeriesMeta })
