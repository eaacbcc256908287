import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

/** The width of an element in CSS pixels, so that what is drawn in it has the text size of the page. */
export const useWidth = <E extends HTMLElement>(first: number): readonly [RefObject<E>, number] => {
  const place = useRef<E>(null)
  const [width, setWidth] = useState(first)
  useEffect(() => {
    const element = place.current
    if (element === null) return
    const observer = new ResizeObserver(() => setWidth(Math.max(240, element.clientWidth)))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return [place, width]
}
