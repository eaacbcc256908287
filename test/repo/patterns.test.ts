import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { check } from 'recheck'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { byForm } from '../support/repetitions.ts'

// The analyser in JavaScript: the other backends are native programs for each platform, or need Java.
process.env.RECHECK_BACKEND = 'pure'

type Pattern = { readonly source: string; readonly flags: string; readonly at: string }

/** Patterns that are assembled at run time, by file: an example of each. */
const composed: Readonly<Record<string, string>> = {
  'lib/observe/secrets.ts': String.raw`https:\/\/base\.example\/v3\/0123456789abcdef|base\.example|0123456789abcdef`,
}

const literal = (node: ts.RegularExpressionLiteral): Omit<Pattern, 'at'> => {
  const end = node.text.lastIndexOf('/')
  return { source: node.text.slice(1, end), flags: node.text.slice(end + 1) }
}

/** Every regular expression of a file. Throws for one that is assembled at run time and has no example in the table. */
const patternsOf = (file: string): Pattern[] => {
  const text = readFileSync(new URL(`../../src/${file}`, import.meta.url), 'utf8')
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const found: Pattern[] = []
  const visit = (node: ts.Node): void => {
    const at = `src/${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
    if (ts.isRegularExpressionLiteral(node)) found.push({ ...literal(node), at })
    const isComposed = ts.isNewExpression(node) || ts.isCallExpression(node)
    if (isComposed && node.expression.getText() === 'RegExp') {
      const example = composed[file]
      if (example === undefined)
        throw new Error(`${at}: write the pattern as a literal, or an example of it into this test`)
      found.push({ source: example, flags: '', at })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

const patterns = readdirSync(new URL('../../src', import.meta.url), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .flatMap(patternsOf)

/**
 * Patterns that an earlier run found safe. The verdict depends on the pattern and on the analyser's version only, and
 * some take seconds, so the default form trusts this list for that version. The long form analyses every pattern and
 * compares the list with the result; `npm run test:long -- test/repo/patterns -u` writes it.
 */
const listed = new URL('safe-patterns.json', import.meta.url)
const List = z.object({ analyser: z.string(), patterns: z.array(z.string()) })
const { version: analyser } = z
  .object({ version: z.string() })
  .parse(createRequire(import.meta.url)('recheck/package.json'))
const nameOf = ({ source, flags }: Pick<Pattern, 'source' | 'flags'>): string => `/${source}/${flags}`
const list = List.parse(JSON.parse(readFileSync(listed, 'utf8')))
const safe = new Set(byForm(list.analyser === analyser ? list.patterns : [], []))

test('the analyser finds patterns that take quadratic and exponential time', async () => {
  for (const [source, type] of [
    ['a.*b', 'polynomial'],
    ['(a+)+$', 'exponential'],
  ] as const) {
    expect(await check(source, '', { timeout: null })).toMatchObject({ status: 'vulnerable', complexity: { type } })
  }
})

describe('no text makes a regular expression slow', () => {
  const verdicts = new Map<string, ReturnType<typeof check>>()

  test.each(patterns)('$at /$source/$flags', async ({ source, flags }) => {
    const name = nameOf({ source, flags })
    if (safe.has(name)) return
    const verdict = verdicts.get(name) ?? check(source, flags, { timeout: null })
    verdicts.set(name, verdict)
    const { status, ...found } = await verdict
    expect({ status, ...(status !== 'safe' && found) }).toEqual({ status: 'safe' })
  })
})

test('the list of safe patterns is of the installed analyser, and in the long form of exactly the sources', async () => {
  expect(list.analyser).toBe(analyser)
  const found = { analyser, patterns: [...new Set(patterns.map(nameOf))].sort() }
  const text = `${JSON.stringify(byForm(list, found), null, 2)}\n`
  await expect(text).toMatchFileSnapshot(listed.pathname)
})
