import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { type GuidePage, guideHtml, guidePageOf, readGuide } from '../../../src/api/pages/guide.ts'
import { PAGE_POLICY, pageOf } from '../../../src/api/pages/html.ts'
import { landingOf, landingPage } from '../../../src/api/pages/landing.ts'
import { llmsText } from '../../../src/api/pages/llms.ts'
import { htmlOf } from '../../../src/api/pages/markdown.ts'
import type { Operation } from '../../../src/api/pages/operation.ts'
import { operationHtml, referenceHtml } from '../../../src/api/pages/reference.ts'
import { release } from '../../../src/lib/root.ts'

/* The pages of the documentation as HTML, and its index for language models. */

const operationOf = (operationId: string, own: Partial<Operation> = {}): Operation => ({
  ...{ operationId, summary: `Do ${operationId}`, description: 'One.', tags: ['Events'], method: 'GET' },
  ...{ path: `/v1/${operationId}`, responses: {}, ...own },
})

const twin = { type: 'text/markdown', url: 'a.md' }

describe('a page', () => {
  test('has its escaped title, its links and its twin, and only the style that its policy allows', () => {
    const html = pageOf({
      title: 'A <b> & "c"',
      nav: ['<a href="x">X</a>', '<a href="y">Y</a>'],
      body: '<p>z</p>',
      twin,
    })
    expect(html).toContain('<title>A &lt;b&gt; &amp; &quot;c&quot;</title>')
    expect(html).toContain('<nav aria-label="Pages"><a href="x">X</a> <a href="y">Y</a></nav>')
    expect(html).toContain('<link rel="alternate" type="text/markdown" href="a.md">')
    expect(html).toContain('<main>\n<p>z</p>\n</main>')
    const [, style = ''] = /<style>([^<]*)<\/style>/.exec(html) ?? []
    expect(PAGE_POLICY).toContain(`style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`)
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "connect-src 'self'",
      "form-action 'none'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ])
      expect(PAGE_POLICY.split('; ')).toContain(rule)
    expect(pageOf({ title: 'A', body: '', twin })).not.toContain('<nav')
  })

  test('of Markdown has anchors as GitHub makes them, links without .md, and wide parts that can be scrolled', () => {
    const html = htmlOf(
      '# Money, *units* & `10^x`: a-b\n\n[one](money.md) [two](../guide/errors.md#retries) [own](#a) [far](https://a.example/x.md)\n\n```json\n{}\n```\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n',
    )
    expect(html).toContain('<h1 id="money-units--10x-a-b">Money, <em>units</em> &amp; <code>10^x</code>: a-b</h1>')
    expect(html).toContain('href="money"')
    expect(html).toContain('href="../guide/errors#retries"')
    expect(html).toContain('href="#a"')
    expect(html).toContain('href="https://a.example/x.md"')
    expect(html).toContain('<pre tabindex="0"><code')
    expect(html).toContain('<table tabindex="0">')
  })
})

describe('the guide', () => {
  test.each([
    ['/v1/pricing/quote', 'money'],
    ['/v1/hedge/fees', 'money'],
    ['/v1/hedge/quote-payout/{chainId}/{id}', 'money'],
    ['/v1/plans/deposit', 'buying-and-claiming'],
    ['/v1/tx/broadcast', 'buying-and-claiming'],
    ['/v1/tx/erc20/approve', 'buying-and-claiming'],
    ['/v1/transactions/{chainId}/{hash}', 'buying-and-claiming'],
    ['/v1/wallets/{addr}/portfolio', 'buying-and-claiming'],
    ['/v1/hedge/settlements/stream', 'settlements'],
    ['/v1/changes', 'changes'],
    ['/v1/reverts', 'errors'],
    ['/v1/hedge/events/{chainId}/{id}', 'pagination'],
    ['/v1/hedge/creators/{chainId}/wallet/{addr}', 'pagination'],
    ['/v1/hedge/paused/{chainId}', undefined],
    ['/v1/changelog', undefined],
    ['/v1/tx/oracle/submit-rate', undefined],
  ])('explains %s on its page %s', (path, name) => expect(guidePageOf(path)?.name).toBe(name))

  test('has each page with its title, and links to the others', async () => {
    const guide = await readGuide()
    expect(guide[0]?.name).toBe('quick-start')
    for (const { title, markdown } of guide) expect(markdown.split('\n')[0]).toBe(`# ${title}`)
    const pages: GuidePage[] = [
      { name: 'one', title: 'One & all', summary: 'First', markdown: '# One & all\n\ntext\n' },
      { name: 'two', title: 'Two', summary: 'Second', markdown: '# Two\n' },
    ]
    const html = guideHtml(pages, pages[0] as GuidePage)
    expect(html).toContain(
      '<a href="../../../">Start</a> <strong aria-current="page">One &amp; all</strong> <a href="two">Two</a> <a href="../../docs">Reference</a>',
    )
    expect(html).toContain('<link rel="alternate" type="text/markdown" href="one.md">')
    expect(html).toContain('<p>text</p>')
  })
})

describe('the start page', () => {
  const chain = (chainId: number, problem: string | null) => ({ chainId, name: `Chain <${chainId}>`, problem })

  test('is ready when every chain is, and begins with the first one', () => {
    const landing = landingOf([chain(8453, null), chain(56, null)])
    expect([landing.ready, landing.release]).toEqual([true, release])
    expect(landing.firstCalls.map(({ path }) => path)).toContain('v1/hedge/fees?chainId=8453')
    expect(landingOf([chain(8453, null), chain(56, 'it lags')]).ready).toBe(false)
  })

  test('as a page has the state of each chain, the links, and the first requests to its origin', () => {
    const landing = landingOf([chain(8453, null), chain(56, 'a & b')])
    const html = landingPage(landing, `https://host/'x'`)
    expect(html).toContain('<h2>Not ready</h2>')
    expect(html).toContain('<li>Chain &lt;8453&gt; (8453): ready</li>\n<li>Chain &lt;56&gt; (56): a &amp; b</li>')
    for (const url of Object.values(landing.links)) expect(html).toContain(`<li><a href="${url}">`)
    expect(html).toContain('<a href="status">State of the index of each chain</a>')
    expect(html).toContain('<a href="v1/changelog">Changes by release</a>')
    const calls = landing.firstCalls.map(({ purpose, path }) => `# ${purpose}\ncurl -s 'https://host/'x'/${path}'`)
    const shown = html.replaceAll('&#39;', "'").replaceAll('&amp;', '&')
    expect(shown).toContain(calls.join('\n\n'))
    expect(html).not.toContain(`'x'`)
    expect(html).toContain('<link rel="alternate" type="application/json" href=".">')
    expect(landingPage(landingOf([chain(56, null)]), '')).toContain('<h2>Ready</h2>')
  })
})

const operations = [
  operationOf('getA', { tags: ['Service'], summary: 'A | B' }),
  operationOf('getB'),
  operationOf('postC', { method: 'POST', path: '/v1/c/{id}' }),
]

test('the index for language models lists the guide and the operations by tag', () => {
  const guide = [{ name: 'money', title: 'Money', summary: 'Units', markdown: '' }]
  const text = llmsText(guide, operations)
  expect(text).toMatch(/^# FX-protection API\n\n> Reads and /)
  const parts = [
    '## Guide\n\n- [Money](v1/docs/guide/money.md): Units\n',
    '## Events\n\n- [GET /v1/getB](v1/docs/operations/getB.md): Do getB\n- [POST /v1/c/{id}](v1/docs/operations/postC.md): Do postC\n',
    '## Service\n\n- [GET /v1/getA](v1/docs/operations/getA.md): A | B\n',
    '## Optional\n\n- [OpenAPI description](v1/openapi.json): all operations and schemas as JSON\n',
  ]
  expect(text.slice(text.indexOf('## Guide'))).toBe(parts.join('\n'))
})

test('the reference lists the operations by tag, with their pages', () => {
  const html = referenceHtml(operations)
  expect([...html.matchAll(/<h2 id="([^"]+)">/g)].map(([, id]) => id)).toEqual(['events', 'service'])
  const links = [...html.matchAll(/<a href="(docs\/operations[^"]+)"><code>([^<]+)<\/code><\/a><\/td>\s*<td>([^<]*)</g)]
  expect(links.map(([, ...rest]) => rest)).toEqual([
    ['docs/operations/getB', 'GET /v1/getB', 'Do getB'],
    ['docs/operations/postC', 'POST /v1/c/{id}', 'Do postC'],
    ['docs/operations/getA', 'GET /v1/getA', 'A | B'],
  ])
  for (const link of ['../', 'docs/guide/quick-start', 'openapi.json']) expect(html).toContain(`<a href="${link}">`)
  expect(html).toContain('<link rel="alternate" type="text/plain" href="../llms.txt">')
})

test('the page of an operation has its form before the response', () => {
  const markdown = '# Do it\n\nfirst\n\n## Response\n\nsecond\n\n## Errors\n\nthird\n'
  const html = operationHtml(operationOf('getB'), markdown, 'console.js')
  const at = ['first', '<form ', 'second', 'third'].map((part) => html.indexOf(part))
  expect(at).toEqual(at.toSorted((a, b) => a - b))
  expect(at[0]).toBeGreaterThan(0)
  expect(html).toContain('<h2 id="response">Response</h2>')
  expect(html).toContain('<title>Do getB</title>')
  expect(html).toContain('<a href="../../docs#events">Reference</a>')
  expect(html).toContain('<link rel="alternate" type="text/markdown" href="getB.md">')
  expect(html).toContain('<script src="console.js">')
})
