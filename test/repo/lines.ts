import { readFileSync } from 'node:fs'
import ts from 'typescript'
import { repositoryFiles } from '../mutants/files.ts'

/*
 * Counts the lines of code of `src` by folder, without generated files, comments and blank lines:
 *
 *   npm run lines
 */

/** The number of lines on which a token of the file is. */
const linesOf = (path: string): number => {
  const text = readFileSync(path, 'utf8')
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, false)
  const lines = new Set<number>()
  const lineAt = (at: number): number => source.getLineAndCharacterOfPosition(at).line
  const visit = (node: ts.Node): void => {
    // The end of the file is an empty token.
    if (ts.isJSDoc(node) || node.kind === ts.SyntaxKind.EndOfFileToken) return
    const parts = node.getChildren(source)
    for (const part of parts) visit(part)
    // A text in several lines is one token.
    if (parts.length === 0)
      for (let line = lineAt(node.getStart(source)); line <= lineAt(node.getEnd()); line += 1) lines.add(line)
  }
  visit(source)
  return lines.size
}

const counts = new Map<string, { files: number; lines: number }>()
for (const path of repositoryFiles(['src/**/*.ts'])) {
  if (path.endsWith('.generated.ts')) continue
  const [, folder = ''] = path.split('/')
  const count = counts.get(folder) ?? { files: 0, lines: 0 }
  counts.set(folder, { files: count.files + 1, lines: count.lines + linesOf(path) })
}
const rows = [...counts].sort(([a], [b]) => a.localeCompare(b))
const sum = (of: 'files' | 'lines'): number => rows.reduce((total, [, count]) => total + count[of], 0)
for (const [folder, { files, lines }] of [...rows, ['all', { files: sum('files'), lines: sum('lines') }] as const])
  console.log(`${folder.padEnd(12)} ${String(files).padStart(4)} files ${String(lines).padStart(6)} lines`)
