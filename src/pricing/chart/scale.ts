/** An axis: maps values to positions in the picture, and lists round values for ticks. */
export type Scale = {
  at(value: number): number
  /** About `count` round values inside the domain, ascending. */
  ticks(count: number): readonly number[]
  readonly range: readonly [number, number]
}

const roundSteps = [1, 2, 2.5, 5, 10]

/** The smallest round step that is at least `least`. */
const roundStep = (least: number): number => {
  const power = 10 ** Math.floor(Math.log10(least))
  return power * (roundSteps.find((step) => step * power >= least * (1 - 1e-9)) ?? 10)
}

/** A linear scale; a domain that begins above its end runs backwards. */
export const linear = (domain: readonly [number, number], range: readonly [number, number]): Scale => {
  const [from, to] = domain
  const [start, end] = range
  return {
    at: (value) => start + ((value - from) / (to - from)) * (end - start),
    ticks(count) {
      const step = roundStep(Math.abs(to - from) / count)
      const first = Math.ceil(Math.min(from, to) / step - 1e-9)
      const last = Math.floor(Math.max(from, to) / step + 1e-9)
      return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step)
    },
    range,
  }
}

/** The range from the smallest to the largest value, widened on each side by a share of their distance. */
export const around = (values: readonly number[], below: number, above = below): [number, number] => {
  const least = Math.min(...values)
  const greatest = Math.max(...values)
  const distance = greatest - least
  return [least - below * distance, greatest + above * distance]
}

const format = (options: Intl.NumberFormatOptions) => {
  const { format: write } = new Intl.NumberFormat('en-US', options)
  // U+2212 is as wide as a digit; -0 is written without a sign.
  return (value: number): string =>
    write(value)
      .replace(/^-(?=[\d.,]*[1-9])/, '\u2212')
      .replace(/^-/, '')
}

/** 12, 13.5, 0.000123: a rate of at most six decimals. */
export const rateText = format({ maximumFractionDigits: 6 })
const cents = format({ minimumFractionDigits: 2, maximumFractionDigits: 2 })
const fine = format({ maximumSignificantDigits: 3, maximumFractionDigits: 6 })
const short = format({ notation: 'compact', maximumFractionDigits: 2 })

/** 1,315.79: an amount to the cent, a small one to three digits. */
export const amountText = (amount: number): string =>
  Math.abs(amount) < 1 && amount !== 0 ? fine(amount) : cents(amount)

/** The label of a tick: 1,000 and 0.25 in full, 2.5M abbreviated. */
export const tickText = (value: number): string => (Math.abs(value) >= 1e6 ? short(value) : rateText(value))
