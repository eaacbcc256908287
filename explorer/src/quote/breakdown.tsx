import type { Schemas } from 'fx-protection-client'
import type { ComponentChildren } from 'preact'
import { Facts } from '../parts/facts.tsx'
import { chainText } from '../text/terms.ts'
import { timeText } from '../text/time.ts'
import { explanationOf, priceRows } from './engine-values.ts'
import { keyText } from './range.ts'

/** The most entries of an object, and the deepest one, that are shown. */
const MOST = 60
const DEEPEST = 4

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** Keys whose values are times, with how many of their units are a second. */
const times: Readonly<Record<string, number>> = { asOf: 1, clock: 1, newestBlock: 1, fetchedAt: 1_000 }

const valueText = (key: string, value: unknown): string => {
  const unit = Object.hasOwn(times, key) ? times[key] : undefined
  if (unit !== undefined && Number.isSafeInteger(value)) return timeText(Number(value) / unit)
  if (value === null) return 'none'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'number') return Number.isInteger(value) ? `${value}` : `${Number(value.toPrecision(8))}`
  return chainText(String(value), 400)
}

const Explained = ({ of }: { readonly of: string }) => {
  const text = explanationOf(of)
  return text === undefined ? null : <small> {text}</small>
}

const rowsOf = (value: object, depth: number): ComponentChildren => {
  const entries = Object.entries(value).slice(0, MOST)
  const plain = entries.filter(([, each]) => !isObject(each))
  const nested = entries.filter(([, each]) => isObject(each))
  return (
    <>
      <dl class="facts">
        {plain.map(([key, each]) => (
          <div key={key}>
            <dt>
              {keyText(key)}
              <Explained of={key} />
            </dt>
            <dd>{valueText(key, each)}</dd>
          </div>
        ))}
      </dl>
      {depth < DEEPEST &&
        nested.map(([key, each]) => (
          <details key={key} class="nested">
            <summary>
              {keyText(key)}
              <Explained of={key} />
            </summary>
            {rowsOf(each as object, depth + 1)}
          </details>
        ))}
    </>
  )
}

/** What a price follows from in words, and every value of the engine on demand. */
export const Breakdown = ({ quote }: { readonly quote: Schemas['PricingQuote'] }) => {
  // Whether it is signed, and why not, is shown with the price.
  const { attestation: _, ...values } = quote.breakdown
  return (
    <>
      <Facts facts={priceRows(quote)} />
      <details class="breakdown">
        <summary>All engine values</summary>
        {rowsOf(values, 0)}
      </details>
    </>
  )
}
