import type { ComponentChildren } from 'preact'
import { Scroll } from './scroll.tsx'

/** A column of a table: its title, its cell, and whether it is a number. */
export type Column<T> = {
  readonly title: string
  readonly cell: (row: T) => ComponentChildren
  readonly number?: boolean
}

type TableProps<T> = {
  readonly label: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  readonly keyOf: (row: T) => string
}

/** A table that scrolls by itself on a small screen, also by keyboard. */
export function Table<T>({ label, columns, rows, keyOf }: TableProps<T>) {
  return (
    <Scroll label={label}>
      <table>
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
              {columns.map(({ title, cell, number }) => (
                <td key={title} class={number ? 'number' : ''}>
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
