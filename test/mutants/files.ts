import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'

/** The files of the repository as they are on the disk: all of them, or those that patterns of paths match. */
export const repositoryFiles = (patterns: readonly string[] = []): string[] => {
  const paths = patterns.map((pattern) => `:(glob)${pattern}`)
  return execFileSync('git', ['ls-files', '-co', '--exclude-standard', '--', ...paths], { encoding: 'utf8' })
    .split('\n')
    .filter((file) => file !== '' && existsSync(file))
}
