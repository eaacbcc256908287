import { expect, test } from 'vitest'
import type { GuidePage } from '../../../src/api/pages/docs/guide.ts'
import type { Operation } from '../../../src/api/pages/docs/operation.ts'
import { searchEntries, termAnchor } from '../../../src/api/pages/docs/search.ts'

const page = (name: string, markdown: string): GuidePage => ({
  ...{ name, title: name === 'glossary' ? 'Glossary' : 'Money', summary: '', markdown },
  path: name === 'glossary' ? name : `guide/${name}`,
})

const operation: Operation = {
  ...{ operationId: 'getThing', summary: 'A thing', description: 'Returns `it`.', tags: ['Events'], method: 'GET' },
  ...{ path: '/v1/things', responses: {}, parameters: [{ name: 'minBlock', in: 'query', required: false }] },
}

test('the sections of a page are found with their text, without the marks of Markdown', () => {
  const markdown =
    '# Money\n\nAll [about](a.md) **it**.\n\n## Units & `scales`\n\n| a | b |\n| --- | --- |\n| c | `d` |\n\n### Deep\n\n```ts\nx\n```\n'
  expect(searchEntries([page('money', markdown)], [])).toEqual([
    { kind: 'guide', title: 'Money', place: 'Guide', url: 'v1/docs/guide/money', text: 'All about it.' },
    ...[
      { title: 'Units & scales', url: 'v1/docs/guide/money#units--scales', text: 'a b c d' },
      { title: 'Deep', url: 'v1/docs/guide/money#deep', text: 'x' },
    ].map((it) => ({ kind: 'guide', place: 'Money', ...it })),
  ])
})

test('the terms of the glossary are found with their meaning', () => {
  const markdown = '# Glossary\n\n| term     | meaning |\n| -------- | --- |\n| LP (one) | the `x` |\n| seed | y |\n'
  expect(
    searchEntries([page('glossary', markdown)], []).map(({ kind, title, text, url }) => [kind, title, text, url]),
  ).toEqual([
    ['term', 'LP (one)', 'the x', 'v1/docs/glossary#term-lp-one'],
    ['term', 'seed', 'y', 'v1/docs/glossary#term-seed'],
  ])
  expect(termAnchor('diamond, facet')).toBe('term-diamond-facet')
})

test('an operation is found by its method, its path, its parameters and its id', () => {
  expect(searchEntries([], [operation, { ...operation, tags: ['None'] }])).toEqual([
    {
      ...{ kind: 'operation', title: 'A thing', place: 'GET /v1/things', url: 'v1/docs/operations/getThing' },
      text: 'Returns it. minBlock getThing',
    },
  ])
})
