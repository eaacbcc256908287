import { costOf, netPayout, payoutAt, type Row } from 'fx-protection-client'
import { useState } from 'preact/hooks'
import { FieldInput } from '../act/field-input.tsx'
import { notionalOf } from '../act/notional.ts'
import { useApi } from '../api/queries.ts'
import { payoffOf } from '../charts/payoff.ts'
import { PayoffChart } from '../charts/payoff-chart.tsx'
import { exactAmount, exactShare, rateText } from '../text/amount.ts'
import { parseDecimal } from '../text/input.ts'
import { unitOf } from '../text/money.ts'
import { Tile } from './facts.tsx'
import { Read } from './state.tsx'
import { Amount, Rate } from './values.tsx'

type Of = { readonly event: Row<'/v1/hedge/events'> }

/** What a notional that the reader chooses costs, and what it pays at a rate. All payouts are after the fee. */
export const Calculator = ({ event }: Of) => {
  const { payoutCap, strike } = event
  const [text, setText] = useState('10000')
  const [tried, setTried] = useState(rateText(payoutCap === 0n ? strike : (strike + payoutCap) / 2n))
  const fees = useApi('/v1/hedge/fees', { chainId: event.chainId })
  const { notional, problem } = notionalOf(text, event)
  const rate = parseDecimal(tried, 6)
  return (
    <section class="card">
      <h2>What it pays, in {unitOf(event)}</h2>
      <div class="act-form">
        <FieldInput
          name="notional"
          value={text}
          set={setText}
          problem={problem}
          unit={unitOf(event)}
          disabled={false}
        />
        <FieldInput
          {...{ name: 'triedRate', value: tried, set: setTried, disabled: false }}
          problem={rate === null ? 'Expected a rate such as 19.2.' : undefined}
        />
      </div>
      <Read of={fees} shape="chart">
        {({ data }) => {
          const cost = notional === null ? null : costOf(event, notional, data)
          const payoff = notional === null ? null : payoffOf(event, notional, cost, data)
          const net = (payout: bigint | undefined) => payout && netPayout(payout, data)
          const fee = `after the payout fee of ${exactShare(data.payoutFeeRate)}`
          const shown = (value: bigint | undefined) =>
            value === undefined ? '–' : <Amount value={value} of={event} symbol={false} />
          return (
            <>
              {payoff && <PayoffChart event={event} payoff={payoff} token={event} />}
              <div class="tiles pairs">
                <Tile name="Costs" note={`with the fee of ${exactShare(data.hedgerFeeRate)} of the premium`}>
                  {shown(cost?.total)}
                </Tile>
                <Tile name="Pays at that rate" note={fee}>
                  {shown(notional === null || rate === null ? undefined : net(payoutAt(event, notional, rate)))}
                </Tile>
                <Tile name="Pays at most" note={fee}>
                  {shown(net(payoff?.most))}
                </Tile>
                <Tile name="Break-even at">
                  {payoff === null ? (
                    '–'
                  ) : payoff.breakEven === null ? (
                    'no rate'
                  ) : (
                    <Rate value={payoff.breakEven} derived />
                  )}
                </Tile>
              </div>
            </>
          )
        }}
      </Read>
    </section>
  )
}

/** The notional, in whole tokens, that shows what an event pays that can no longer be bought. */
const EXAMPLE = 10_000n

/** What an expired event pays, and once it is settled, what it paid. */
export const Result = ({ event }: Of) => {
  const notional = EXAMPLE * 10n ** BigInt(event.decimals ?? 0)
  const payoff = payoffOf(event, notional)
  const settledAt = event.status !== 0 && event.stats ? event.stats.settlementPrice : null
  const example = exactAmount(notional, event.decimals ?? 0)
  return (
    <section class="card">
      <h2>
        {settledAt === null ? 'What it pays' : 'What it paid'}, in {unitOf(event)}
      </h2>
      <PayoffChart event={event} payoff={payoff} token={event} settledAt={settledAt} />
      <div class="tiles pairs">
        {settledAt !== null && (
          <Tile name={`${example} of notional paid`} note={`at ${rateText(settledAt)}, before the fee`}>
            <Amount value={payoutAt(event, notional, settledAt)} of={event} symbol={false} />
          </Tile>
        )}
        <Tile name={`${example} of notional pays at most`} note="before the fee">
          <Amount value={payoff.most} of={event} symbol={false} />
        </Tile>
      </div>
    </section>
  )
}
