import { useState } from 'preact/hooks'

/** The cursors of the pages that were opened, the current one last. */
export const usePages = () => {
  const [cursors, setCursors] = useState<readonly string[]>([])
  return {
    cursor: cursors.at(-1),
    number: cursors.length + 1,
    next: (cursor: string) => setCursors([...cursors, cursor]),
    previous: () => setCursors(cursors.slice(0, -1)),
    reset: () => setCursors([]),
  }
}

type PagerProps = { readonly pages: ReturnType<typeof usePages>; readonly nextCursor: string | null | undefined }

/** Buttons to the pages of a list; nothing for a list of one page. */
export const Pager = ({ pages, nextCursor }: PagerProps) => {
  if (pages.number === 1 && !nextCursor) return null
  return (
    <nav class="pager" aria-label="Pages of the list">
      <button type="button" class="small plain" disabled={pages.number === 1} onClick={pages.previous}>
        Previous
      </button>
      <span>Page {pages.number}</span>
      <button
        type="button"
        class="small plain"
        disabled={!nextCursor}
        onClick={() => nextCursor && pages.next(nextCursor)}
      >
        Next
      </button>
    </nav>
  )
}
