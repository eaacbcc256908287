import { useEffect, useLayoutEffect } from 'preact/hooks'

const NAME = 'FX protection'

/** Names the page in the title of the window, where its heading does not name it well; without one, the explorer. */
export const useTitle = (title?: string): void => {
  useEffect(() => {
    document.title = title ? `${title} · ${NAME}` : NAME
  }, [title])
}

/** The heading of the page without the state in it. */
const headingOf = (page: Element): string =>
  [...(page.querySelector('h1')?.childNodes ?? [])]
    .filter((node) => !(node instanceof Element && node.matches('.pill')))
    .map(({ textContent }) => textContent)
    .join('')
    .trim()

/** Names each page after its heading, until it has a title of its own. */
export const useHeadingTitle = (path: string): void => {
  useLayoutEffect(() => {
    const page = document.getElementById('main')
    if (page === null) return
    let given = NAME
    const update = (): void => {
      if (document.title !== given) return
      const heading = headingOf(page)
      given = heading === '' ? NAME : `${heading} · ${NAME}`
      document.title = given
    }
    document.title = given
    update()
    const observer = new MutationObserver(update)
    observer.observe(page, { childList: true, characterData: true, subtree: true })
    return () => observer.disconnect()
  }, [path])
}
