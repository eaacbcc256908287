import { escapeMarkup } from '../../lib/http/markup.ts'

/** Attributes of an element; numbers are written to a hundredth. */
type Attributes = Readonly<Record<string, string | number>>

const written = (value: string | number): string =>
  typeof value === 'number' ? String(Math.round(value * 100) / 100) : escapeMarkup(value)

/** One element. Children must be markup: escape text with `escapeMarkup`. */
export const element = (name: string, attributes: Attributes, ...children: readonly string[]): string => {
  const start = [name, ...Object.entries(attributes).map(([key, value]) => `${key}="${written(value)}"`)].join(' ')
  return children.length === 0 ? `<${start}/>` : `<${start}>${children.join('')}</${name}>`
}

/** A line of text. The white outline keeps it readable over a curve. */
export const label = (text: string, x: number, y: number, attributes: Attributes = {}): string =>
  element(
    'text',
    { x, y, 'paint-order': 'stroke', stroke: '#ffffff', 'stroke-width': 4, 'stroke-linejoin': 'round', ...attributes },
    escapeMarkup(text),
  )

/** The `d` of a line through points. */
export const pathThrough = (points: readonly (readonly [number, number])[]): string =>
  points.map(([x, y], index) => `${index === 0 ? 'M' : 'L'}${written(x)} ${written(y)}`).join('')
