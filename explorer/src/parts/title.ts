import { useEffect } from 'preact/hooks'

const NAME = 'FX protection'

/** Names the page in the title of the window; without a title, the name of the explorer. */
export const useTitle = (title?: string): void => {
  useEffect(() => {
    document.title = title ? `${title} · ${NAME}` : NAME
  }, [title])
}
