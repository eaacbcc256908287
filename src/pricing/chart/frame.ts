import { type Scale, tickText } from './scale.ts'
import { element, label } from './svg.ts'

export const WIDTH = 880
/** The left and right edge of every plot, in pixels. */
export const ACROSS: readonly [number, number] = [84, WIDTH - 28]

export const ink = {
  text: '#1f2328',
  faint: '#59636e',
  grid: '#d8dee4',
  line: '#0969da',
  today: '#bc4c00',
  strike: '#1a7f37',
  cap: '#8250df',
}

const LETTER = 7
const ROW = 16
/** Approximate height between two ticks, in pixels. */
const TICK_EVERY = 30

type Axes = {
  readonly xs: Scale
  readonly ys: Scale
  readonly title: string
  readonly across: string
}

/** Grid, round ticks and labels of a plot; the title names the unit of the vertical axis. */
export const frame = ({ xs, ys, title, across }: Axes, titleAt: number): string => {
  const [left, right] = ACROSS
  const [bottom, top] = ys.range
  const vertical = xs.ticks(8).flatMap((tick) => {
    const x = xs.at(tick)
    const line = element('line', { x1: x, x2: x, y1: bottom, y2: top, stroke: ink.grid })
    return [line, label(tickText(tick), x, bottom + 18, { 'text-anchor': 'middle', fill: ink.faint })]
  })
  const level = ys.ticks((bottom - top) / TICK_EVERY).flatMap((tick) => {
    const y = ys.at(tick)
    const line = element('line', { x1: left, x2: right, y1: y, y2: y, stroke: tick === 0 ? ink.faint : ink.grid })
    return [line, label(tickText(tick), left - 8, y + 4, { 'text-anchor': 'end', fill: ink.faint })]
  })
  return [
    label(title, left, titleAt, { 'font-size': 15, 'font-weight': 600 }),
    ...vertical,
    ...level,
    label(across, (left + right) / 2, bottom + 40, { 'text-anchor': 'middle', fill: ink.faint }),
  ].join('')
}

export type Marker = { readonly value: number; readonly text: string; readonly colour: string }

type Placed = Marker & { readonly x: number; readonly from: number; readonly row: number }

/** Places each label above its line, in the lowest row where it does not overlap a label to its left. */
const place = (markers: readonly Marker[], xs: Scale): readonly Placed[] => {
  const ends: number[] = []
  return markers
    .toSorted((a, b) => xs.at(a.value) - xs.at(b.value))
    .map((marker) => {
      const x = xs.at(marker.value)
      const width = marker.text.length * LETTER
      const from = Math.min(Math.max(x - width / 2, ACROSS[0]), ACROSS[1] - width)
      const free = ends.findIndex((end) => end + LETTER <= from)
      const row = free === -1 ? ends.length : free
      ends[row] = from + width
      return { ...marker, x, from: from + width / 2, row }
    })
}

/** Vertical lines with a label above the plot. */
export const markers = (list: readonly Marker[], xs: Scale, ys: Scale): string => {
  const [bottom, top] = ys.range
  return place(list, xs)
    .flatMap(({ x, from, row, text, colour }) => [
      element('line', {
        x1: x,
        x2: x,
        y1: bottom,
        y2: top,
        stroke: colour,
        'stroke-width': 1.5,
        'stroke-dasharray': '2 3',
      }),
      label(text, from, top - 7 - row * ROW, { 'text-anchor': 'middle', fill: colour, 'font-weight': 600 }),
    ])
    .join('')
}

/** A point with a tooltip. Browsers show the tooltip when the SVG file is opened directly. */
export const dot = (x: number, y: number, colour: string, note: string): string =>
  element('circle', { cx: x, cy: y, r: 4.5, fill: colour, stroke: '#ffffff', 'stroke-width': 1.5 }, note)
