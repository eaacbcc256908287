const machine = Date.now.bind(Date)

/**
 * Makes the pages show times as seen from the chains when these are ahead of the machine: else an event that has expired
 * would still be open in them.
 */
export const setAhead = (seconds: number): void => {
  Date.now = seconds === 0 ? machine : () => machine() + seconds * 1_000
}
