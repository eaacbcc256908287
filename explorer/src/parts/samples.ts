import { useEffect, useState } from 'preact/hooks'

/** The most samples that are kept: an hour of one every five seconds. */
const MOST = 720

export type Samples = { readonly times: readonly number[]; readonly values: readonly (number | null)[] }

/**
 * A sample more, unless its time is not later than that of the last one; the oldest go.
 *
 * @internal
 */
export const withSample = ({ times, values }: Samples, time: number, value: number | null, most = MOST): Samples =>
  time <= (times.at(-1) ?? Number.NEGATIVE_INFINITY)
    ? { times, values }
    : { times: [...times, time].slice(-most), values: [...values, value].slice(-most) }

/** The values of a figure since the page was opened. `at`: the time of the value in Unix seconds; null for none. */
export const useSamples = (value: number | null, at: number | null): Samples => {
  const [samples, setSamples] = useState<Samples>({ times: [], values: [] })
  useEffect(() => {
    if (at !== null) setSamples((before) => withSample(before, at, value))
  }, [value, at])
  return samples
}
