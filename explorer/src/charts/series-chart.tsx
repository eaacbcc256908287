import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { Scroll } from '../parts/scroll.tsx'
import { compact } from '../text/amount.ts'
import { clockText, dateText, dayText, timeText } from '../text/time.ts'

type Line = { readonly name: string; readonly values: readonly (number | null)[] }

type Props = {
  readonly label: string
  /** Unix seconds, rising. */
  readonly times: readonly number[]
  readonly lines: readonly Line[]
  readonly height?: number
  /** The times are of one day. */
  readonly clock?: boolean
}

const COLOURS = ['--accent', '--good', '--warn', '--bad'] as const

const colour = (element: Element, name: string): string => getComputedStyle(element).getPropertyValue(name).trim()

/** Draws lines over time. The table below it has the same values. */
export const SeriesChart = ({ label, times, lines, height = 220, clock = false }: Props) => {
  const place = useRef<HTMLDivElement>(null)
  const [shortText, longText] = clock ? [clockText, timeText] : [dayText, dateText]
  const key = JSON.stringify([times, lines])
  useEffect(() => {
    const element = place.current
    if (element === null) return
    let plot: uPlot | undefined
    const axis = { stroke: colour(element, '--muted'), grid: { stroke: colour(element, '--line'), width: 1 } }
    const draw = (): void => {
      plot?.destroy()
      plot = new uPlot(
        {
          width: element.clientWidth || 600,
          height,
          cursor: { drag: { x: false, y: false } },
          tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC'),
          axes: [
            { ...axis, values: (_, ticks) => ticks.map(shortText) },
            { ...axis, size: 56, values: (_, ticks) => ticks.map(compact) },
          ],
          scales: { y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.08 : 1] } },
          hooks: { ready: [showLast] },
          series: [
            { value: (_, at) => (at === null ? '' : longText(at)) },
            ...lines.map(({ name }, index) => ({
              label: name,
              stroke: colour(element, COLOURS[index % COLOURS.length] ?? '--accent'),
              width: 2,
              points: { show: times.length < 3 },
              value: (_: uPlot, value: number | null) => (value === null ? '–' : compact(value)),
            })),
          ],
        },
        [[...times], ...lines.map(({ values }) => [...values])],
        element,
      )
    }
    // Without a pointer, the legend has the last values.
    const showLast = (): void => plot?.setLegend({ idx: times.length - 1 })
    element.addEventListener('mouseleave', showLast)
    draw()
    const resized = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height }))
    resized.observe(element)
    // The colours are those of the theme at the time of drawing.
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', draw)
    return () => {
      scheme.removeEventListener('change', draw)
      element.removeEventListener('mouseleave', showLast)
      resized.disconnect()
      plot?.destroy()
    }
  }, [key, height])
  return (
    <figure class="chart series">
      <div ref={place} role="img" aria-label={label} />
      <details>
        <summary>Values</summary>
        <Scroll short label={`Values: ${label}`}>
          <table>
            <thead>
              <tr>
                <th scope="col">Time</th>
                {lines.map(({ name }) => (
                  <th key={name} scope="col" class="number">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {times.map((time, row) => (
                <tr key={time} data-time={time}>
                  <td>{longText(time)}</td>
                  {lines.map(({ name, values }) => (
                    <td key={name} class="number" data-value={values[row]}>
                      {values[row] ?? '–'}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      </details>
    </figure>
  )
}
