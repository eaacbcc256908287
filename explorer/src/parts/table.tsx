import type { ComponentChildren } from 'preact'
import { Scroll } from './scroll.tsx'

/** A column of a table: its title, its cell, and whether it is a number or a button. */
export type Column<T> = {
  readonly title: string
  readonly cell: (row: T) => ComponentChildren
  readonly number?: boolean
  readonly action?: boolean
}

type TableProps<T> = {
  readonly label: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  readonly keyOf: (row: T) => string
}

/** A table that scrolls by itself, also by keyboard. On a small screen each row is a card with the titles as labels. */
export function Table<T>({ label, columns, rows, keyOf }: TableProps<T>) {
  return (
    <Scroll label={label}>
      <table class="rows">
        <thead>
          <tr>
            {columns.map(({ title, number }) => (
              <th key={title} scope="col" class={number ? 'number' : ''}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ title, cell, number, action }) => (
                <td key={title} class={number ? 'number' : action ? 'action' : ''} data-label={title}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}
