/**
 * One fault and the result: noticed, or not, or why it does not count: it changes nothing, or nothing that these tests
 * see.
 */
export type Outcome = {
  readonly file: string
  /** The fault as a reader finds it: its line and what was changed. */
  readonly text: string
  readonly result: 'noticed' | 'survived' | { readonly same: string }
}

/** The share of faults that tests have to notice in each folder. */
export const TARGET = 0.9

type Row = { readonly folder: string; readonly noticed: number; readonly all: number; readonly same: number }

/** The folder of a file. */
export const folderOf = (file: string): string => file.split('/').slice(0, -1).join('/')

const rowOf = (folder: string, outcomes: readonly Outcome[]): Row => {
  const noticed = outcomes.filter(({ result }) => result === 'noticed').length
  const survived = outcomes.filter(({ result }) => result === 'survived').length
  return { folder, noticed, all: noticed + survived, same: outcomes.length - noticed - survived }
}

/** The share of noticed faults: 1 where no fault changes anything. */
export const shareOf = ({ noticed, all }: Row): number => (all === 0 ? 1 : noticed / all)

/** A row for each folder, in the order of their names. */
export const scores = (outcomes: readonly Outcome[]): Row[] =>
  [...new Set(outcomes.map(({ file }) => folderOf(file)))].sort().map((folder) =>
    rowOf(
      folder,
      outcomes.filter(({ file }) => folderOf(file) === folder),
    ),
  )

/** A table of folders, then the survivors and the faults that do not count. */
export const report = (outcomes: readonly Outcome[]): string => {
  const rows = [...scores(outcomes), rowOf('all', outcomes)]
  const table = rows.map((row) => {
    const { folder, noticed, all, same } = row
    const share = shareOf(row)
    return `${folder.padEnd(28)} ${`${noticed}/${all}`.padStart(9)} ${share.toFixed(3)}${share < TARGET ? ' below the target' : ''}${same > 0 ? ` (${same} not counted)` : ''}`
  })
  const survivors = outcomes.filter(({ result }) => result === 'survived').map(({ file, text }) => `  ${file} ${text}`)
  const same = outcomes.flatMap(({ file, text, result }) =>
    typeof result === 'object' ? `  ${file} ${text}\n    ${result.same}` : [],
  )
  return [...table, '', `${survivors.length} survived`, ...survivors, '', `${same.length} not counted`, ...same].join(
    '\n',
  )
}
