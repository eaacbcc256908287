/** Most lines that are held. */
const MOST_HELD = 200

/**
 * Holds the lines of processes while a start may still succeed: what fails meanwhile is tried again. `open` drops them and
 * passes on the lines that follow; `show` prints them.
 */
export const createHeldOutput = (print: (line: string) => void) => {
  let held: string[] | null = []
  return {
    line(text: string): void {
      if (held === null) print(text)
      else held.push(text)
      if (held !== null && held.length > MOST_HELD) held.shift()
    },
    open(): void {
      held = null
    },
    show(): void {
      for (const text of held ?? []) print(text)
      held = null
    },
  }
}
