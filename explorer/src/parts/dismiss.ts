import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'

/** Closes an open menu with a press outside of it, or with Escape, after which its button has the focus. */
export const useDismiss = (
  open: boolean,
  close: () => void,
  button: RefObject<HTMLElement>,
  isInside: (target: Element) => boolean,
): void => {
  // Before the menu is painted: a key that is pressed at once would have no effect otherwise.
  useLayoutEffect(() => {
    if (!open) return
    const closeByPress = ({ target }: Event): void => {
      if (!(target instanceof Element && isInside(target))) close()
    }
    const closeByKey = ({ key }: KeyboardEvent): void => {
      if (key !== 'Escape') return
      close()
      button.current?.focus()
    }
    addEventListener('pointerdown', closeByPress)
    addEventListener('keydown', closeByKey)
    return () => {
      removeEventListener('pointerdown', closeByPress)
      removeEventListener('keydown', closeByKey)
    }
  }, [open])
}
