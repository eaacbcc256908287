/** The parameters that choose a page or rows of a list. All others name what an answer is about. */
const choosing: ReadonlySet<string> = new Set('cursor order sort state underlying poolOpen capacityFrom'.split(' '))

const listOf = (params: object): string =>
  JSON.stringify(
    Object.entries(params)
      .filter(([name]) => !choosing.has(name))
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )

/** Whether the parameters of two requests differ at most in the page or the rows that they choose from one list. */
export const isSameList = (params: object, others: object): boolean => listOf(params) === listOf(others)
