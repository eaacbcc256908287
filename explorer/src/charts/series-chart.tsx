import './language.ts'
import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import { Scroll } from '../parts/scroll.tsx'
import { compact, numbersText } from '../text/amount.ts'
import { clockText, dateText, dayText, timeText } from '../text/time.ts'
import { atLeast } from './scale.ts'

/** Its colour is a place in the list of colours: a metric keeps it where other lines are left out. */
type Line = { readonly name: string; readonly values: readonly (number | null)[]; readonly colour?: number }

type Props = {
  readonly label: string
  /** Unix seconds, rising. */
  readonly times: readonly number[]
  readonly lines: readonly Line[]
  readonly height?: number
  /** The times are of one day. */
  readonly clock?: boolean
}

const MINUTE = 60
const DAY = 86_400

const COLOURS = ['--accent', '--good', '--warn', '--bad'] as const

const colourOf = ({ colour }: Line, index: number): string => COLOURS[(colour ?? index) % COLOURS.length] ?? '--accent'

/** The value of a colour in the theme of the page. */
const themeColour = (colour: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(colour).trim()

/** Draws lines over time. The legend has the values at the pointer, or the last ones. The table has all of them. */
export const SeriesChart = ({ label, times, lines, height = 220, clock = false }: Props) => {
  const place = useRef<HTMLDivElement>(null)
  const [pointed, setPointed] = useState<number | null>(null)
  const [shortText, longText] = clock ? [clockText, timeText] : [dayText, dateText]
  const text = numbersText(lines.flatMap(({ values }) => values))
  const key = JSON.stringify([times, lines])
  useEffect(() => {
    const element = place.current
    if (element === null) return
    let plot: uPlot | undefined
    const draw = (): void => {
      plot?.destroy()
      const axis = { stroke: themeColour('--muted'), grid: { stroke: themeColour('--line'), width: 1 } }
      plot = new uPlot(
        {
          width: element.clientWidth || 600,
          height,
          padding: [null, 24, null, null],
          cursor: { drag: { x: false, y: false } },
          legend: { show: false },
          tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC'),
          axes: [
            { ...axis, space: clock ? 90 : 50, values: (_, ticks) => ticks.map(shortText) },
            { ...axis, size: 56, values: (_, ticks) => ticks.map(compact) },
          ],
          scales: {
            x: { range: (_, from, to) => [...atLeast([from, to], clock ? MINUTE : 2 * DAY)] },
            y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.08 : 1] },
          },
          hooks: { setCursor: [({ cursor }) => setPointed(cursor.idx ?? null)] },
          series: [
            {},
            ...lines.map((line, index) => ({
              stroke: themeColour(colourOf(line, index)),
              width: 2,
              points: { show: times.length < 3 },
            })),
          ],
        },
        [[...times], ...lines.map(({ values }) => [...values])],
        element,
      )
    }
    draw()
    const resized = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height }))
    resized.observe(element)
    // The colours are those of the theme at the time of drawing.
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', draw)
    return () => {
      scheme.removeEventListener('change', draw)
      resized.disconnect()
      plot?.destroy()
    }
  }, [key, height])
  const at = Math.min(pointed ?? times.length, times.length - 1)
  const time = times[at]
  return (
    <figure class="chart series">
      <div ref={place} role="img" aria-label={label} style={{ height: `${height}px` }} />
      <figcaption>
        {time !== undefined && longText(time)}
        {lines.map((line, index) => {
          const value = line.values[at]
          return (
            <span key={line.name} class="item">
              <span class="key" style={{ background: `var(${colourOf(line, index)})` }} /> {line.name}{' '}
              <span class="amount">{value == null ? '–' : compact(value)}</span>
            </span>
          )
        })}
      </figcaption>
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
                  {lines.map(({ name, values }) => {
                    const value = values[row] ?? null
                    return (
                      <td key={name} class="number" data-value={value} title={value === null ? '' : `${value}`}>
                        {value === null ? '–' : text(value)}
                      </td>
                    )
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      </details>
    </figure>
  )
}
