import { readdirSync, readFileSync } from 'node:fs'
import { check } from 'recheck'
import ts from 'typescript'
import { expect, test } from 'vitest'

// The analyser in JavaScript: the other ones are a program for each platform, and Java.
process.env.RECHECK_BACKEND = 'pure'

type Pattern = { readonly source: string; readonly flags: string; readonly at: string }

/** Patterns that are put together when the process starts, by file: one as it comes out. */
const composed: Readonly<Record<string, string>> = {
  'lib/secrets.ts': String.raw`https:\/\/base\.example\/v3\/0123456789abcdef|base\.example|0123456789abcdef`,
}

const literal = (node: ts.RegularExpressionLiteral): Omit<Pattern, 'at'> => {
  const end = node.text.lastIndexOf('/')
  return { source: node.text.slice(1, end), flags: node.text.slice(end + 1) }
}

/** Every regular expression of a file. Throws for one that is composed and not in the table. */
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

test('the analyser finds what takes quadratic and exponential time', async () => {
  for (const [source, type] of [
    ['a.*b', 'polynomial'],
    ['(a+)+$', 'exponential'],
  ] as const) {
    expect(await check(source, '', { timeout: null })).toMatchObject({ status: 'vulnerable', complexity: { type } })
  }
})

test.each(patterns)('no text makes a regular expression slow: $at /$source/$flags', async ({ source, flags }) => {
  const { status, ...found } = await check(source, flags, { timeout: null })
  expect({ status, ...(status !== 'safe' && found) }).toEqual({ status: 'safe' })
})
