/** What the panel remembers in this browser. A browser that forbids it remembers nothing. */
export const saved = {
  read(name: string): string | null {
    try {
      return localStorage.getItem(`sandbox.${name}`)
    } catch {
      return null
    }
  },
  write(name: string, value: string): void {
    try {
      localStorage.setItem(`sandbox.${name}`, value)
    } catch {}
  },
}
