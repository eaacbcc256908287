import { posix } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Description } from '../../../src/api/openapi/document.ts'
import {
  contentsHtml,
  contentsOf,
  headingOf,
  neighboursHtml,
  outlineHtml,
} from '../../../src/api/pages/docs/contents.ts'
import { attachments, type GuidePage, guidePageOf, readGuide } from '../../../src/api/pages/docs/guide.ts'
import { guideHtml } from '../../../src/api/pages/docs/guide-html.ts'
import { llmsText } from '../../../src/api/pages/docs/llms.ts'
import type { Operation } from '../../../src/api/pages/docs/operation.ts'
import { operationHtml, referenceHtml } from '../../../src/api/pages/docs/reference.ts'
import { PAGE_POLICY, pageOf, type Shell } from '../../../src/api/pages/html.ts'
import { landingOf, landingPage } from '../../../src/api/pages/landing.ts'
import { render } from '../../../src/api/pages/markdown.ts'
import { notFoundPage } from '../../../src/api/pages/not-found.ts'
import { release } from '../../../src/lib/root.ts'

/* The pages of the documentation as HTML, and its index for language models. */

const operationOf = (operationId: string, own: Partial<Operation> = {}): Operation => ({
  ...{ operationId, summary: `Do ${operationId}`, description: 'One.', tags: ['Events'], method: 'GET' },
  ...{ path: `/v1/${operationId}`, responses: {}, ...own },
})

const documentOf = (schemas: object): Description => ({ components: { schemas } }) as unknown as Description

const twin = { type: 'text/markdown', url: 'a.md' }

const shell: Shell = { root: '../', style: 'v1/a.css?v=1', script: 'v1/a.js?v="2"', explorer: true }

/** Pages of a guide. */
const guide: readonly GuidePage[] = [
  { name: 'one', title: 'One & all', summary: 'First', path: 'guide/one', markdown: '# One & all\n\ntext\n' },
  { name: 'two', title: 'Two', summary: 'Second', path: 'guide/two', markdown: '# Two\n' },
  {
    ...{ name: 'glossary', title: 'Glossary', summary: 'Terms', path: 'glossary' },
    markdown: '# Glossary\n\nIntro.\n\n## A\n\n| term | meaning |\n| --- | --- |\n| LP (one) | a `b` |\n',
  },
]

describe('a page', () => {
  test('has its escaped title, its twin, and only the style and scripts that its policy allows', () => {
    const html = pageOf(shell, { title: 'A <b> & "c"', body: '<p>z</p>', twin, scripts: ['v1/b.js'] })
    expect(html).toContain('<title>A &lt;b&gt; &amp; &quot;c&quot; · FX protection</title>')
    expect(html).toContain('<link rel="alternate" type="text/markdown" href="a.md">')
    expect(html).toContain('<main id="main">\n<p>z</p>\n</main>')
    expect(html).toContain('<link rel="stylesheet" href="../v1/a.css?v=1">')
    expect([...html.matchAll(/<script defer src="([^"]+)"><\/script>/g)].map(([, src]) => src)).toEqual([
      '../v1/a.js?v=&quot;2&quot;',
      '../v1/b.js',
    ])
    expect(html).not.toMatch(/<style|style=|<script(?! defer src)| on\w+=/)
    expect(html).toContain('<html lang="en" data-root="../">')
    for (const rule of [
      "default-src 'none'",
      "style-src 'self'",
      "script-src 'self'",
      "connect-src 'self'",
      "img-src 'self' data:",
      "form-action 'none'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ])
      expect(PAGE_POLICY.split('; ')).toContain(rule)
    expect(pageOf(shell, { title: 'A', body: '' })).not.toContain('rel="alternate"')
  })

  test('links the parts of the service, and the explorer only where it is served', () => {
    const html = pageOf(shell, { title: 'A', section: 'glossary', body: '' })
    const links = [...html.matchAll(/<a href="([^"]+)"( aria-current="page")?>/g)].map(([, url, current]) => [
      url,
      current,
    ])
    expect(links).toEqual([
      ['../explorer/', undefined],
      ['../v1/docs/guide/quick-start', undefined],
      ['../v1/docs', undefined],
      ['../v1/docs/glossary', ' aria-current="page"'],
      ['../v1/docs/pricing', undefined],
      ['../explorer/status', undefined],
    ])
    const without = pageOf({ ...shell, explorer: false }, { title: 'A', body: '' })
    expect(without).not.toContain('explorer')
    expect(without).toContain('<a href="../status">Status as JSON</a>')
    expect(without).not.toContain('"contents"')
    // On a phone a button shows them.
    expect(without).toContain('<button class="menu" popovertarget="sections">')
    expect(without).toContain('<nav id="sections" popover ')
  })

  test('of the documentation has a list of pages that a phone shows by a button', () => {
    const html = pageOf(shell, { title: 'A', body: '', contents: '<p>list</p>' })
    expect(html).toContain('<button class="menu" popovertarget="contents">')
    expect(html).toContain('<nav id="contents" popover aria-label="Pages">\n<p>list</p>\n</nav>')
  })

  test('of Markdown has anchors as GitHub makes them, links without .md, and wide parts that can be scrolled', async () => {
    const { html, headings } = await render(
      '# Money, *units* & `10^x`: a-b\n\n[one](money.md) [two](../guide/errors.md#retries) [own](#a) [far](https://a.example/x.md)\n\n```json\n{"a": "<b>"}\n```\n\n```none\n<c>\n```\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n',
    )
    expect(html).toContain('<h1 id="money-units--10x-a-b">Money, <em>units</em> &amp; <code>10^x</code>: a-b</h1>')
    expect(headings).toEqual([{ text: 'Money, units & 10^x: a-b', anchor: 'money-units--10x-a-b', depth: 1 }])
    expect(html).toContain('href="money"')
    expect(html).toContain('href="../guide/errors#retries"')
    expect(html).toContain('href="#a"')
    expect(html).toContain('href="https://a.example/x.md"')
    expect(html).toContain('<div class="code"><pre tabindex="0"><code><span class="hljs-punctuation">{</span>')
    expect(html).toContain('<span class="hljs-string">&quot;&lt;b&gt;&quot;</span>')
    expect(html).toContain('<code>&lt;c&gt;</code>')
    expect(html).toMatch(
      /<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>[\s\S]*<\/table><\/div>/,
    )
  })

  test('of Markdown has commands whose long lines are wrapped', async () => {
    const { html } = await render('```sh\nls\n```\n\n```console\nls\n```\n\n```json\n1\n```\n')
    expect(html.match(/<div class="[^"]+"/g)).toEqual([
      '<div class="code wrap"',
      '<div class="code wrap"',
      '<div class="code"',
    ])
  })

  test('of Markdown has code without colours when it is long', async () => {
    const code = (length: number) => render(`\`\`\`json\n"${'a'.repeat(length - 2)}"\n\`\`\``)
    expect((await code(20_000)).html).toContain('hljs-string')
    expect((await code(20_001)).html).not.toContain('hljs-string')
  })
})

describe('the list of pages', () => {
  const operations = [operationOf('getA'), operationOf('postB', { method: 'POST', tags: ['Plans'], summary: 'B <b>' })]
  const groups = contentsOf(guide, operations)

  test('has the guide and the operations by tag, and is open where the current page is', () => {
    const html = contentsHtml(groups, 'v1/docs/glossary', '../../')
    expect([...html.matchAll(/<details( open)?><summary>(\w+)</g)].map(([, open, title]) => [title, open])).toEqual([
      ['Guide', ' open'],
      ['Reference', ' open'],
      ['Events', undefined],
      ['Plans', undefined],
    ])
    expect(html).toContain('<li><a href="../../v1/docs/guide/one">One &amp; all</a></li>')
    expect(html).toContain('<li><a href="../../v1/docs/glossary" aria-current="page">Glossary</a></li>')
    expect(html).toContain('<li><a href="../../v1/docs/operations/getA">Do getA</a></li>')
    expect(html).toContain('<a href="../../v1/docs/operations/postB">B &lt;b&gt; <small>POST</small></a>')
    expect(contentsHtml(groups, 'v1/docs/operations/getA', '')).toContain('<details open><summary>Events<')
  })

  test('gives each page the one before and the one after it', () => {
    const links = (url: string) =>
      [...neighboursHtml(groups, url, '../').matchAll(/rel="(\w+)" href="([^"]+)"><small>(\w+)</g)].map(
        ([, ...it]) => it,
      )
    expect(links('v1/docs/guide/one')).toEqual([['next', '../v1/docs/guide/two', 'Next']])
    expect(links('v1/docs')).toEqual([
      ['prev', '../v1/docs/glossary', 'Previous'],
      ['next', '../v1/docs/operations/getA', 'Next'],
    ])
    expect(links('v1/docs/operations/postB')).toEqual([['prev', '../v1/docs/operations/getA', 'Previous']])
  })

  test('of headings begins at three of the second level', () => {
    const headings = ['A', 'B & c', 'D'].map(headingOf)
    const deeper = { text: 'E', anchor: 'e', depth: 3 }
    expect(outlineHtml([...headings, deeper])).toContain(
      '<ul><li><a href="#a">A</a></li><li><a href="#b--c">B &amp; c</a></li><li><a href="#d">D</a></li></ul>',
    )
    expect(outlineHtml([...headings.slice(1), deeper])).toBe('')
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

  test('has each page with its title, the glossary and the pages about prices, and links only to what is served', async () => {
    const pages = await readGuide()
    expect(pages[0]?.path).toBe('guide/quick-start')
    for (const { title, markdown } of pages) expect(markdown.split('\n')[0]).toBe(`# ${title}`)
    const other = pages.filter(({ path }) => !path.startsWith('guide/'))
    expect(other.map(({ path, title }) => [path, title])).toEqual([
      ['glossary', 'Glossary'],
      ['pricing', 'Prices'],
      ['study/README', 'What the prices would have paid'],
    ])
    const linked = other.flatMap(({ path, markdown }) =>
      [...markdown.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => posix.join(posix.dirname(path), link)),
    )
    const served = [...Object.keys(attachments), ...other.map(({ path }) => `${path}.md`)]
    expect(linked.filter((path) => !served.includes(path))).toEqual([])
    expect(Object.keys(attachments).filter((path) => !linked.includes(path))).toEqual([])
    // A reader of the service has no repository.
    for (const { markdown } of pages) expect(markdown).not.toMatch(/\bdecision \d|\btest\/|\]\((?:decisions|\.\.)\//i)
  })

  test('has an anchor for each term of the glossary', async () => {
    const [one, , glossary] = guide
    expect((await guideHtml(glossary as GuidePage)).html).toContain('<tr id="term-lp-one">\n<td>LP (one)</td>')
    expect(await guideHtml(one as GuidePage)).toEqual({
      html: '<h1 id="one--all">One &amp; all</h1>\n<p>text</p>\n',
      headings: [{ text: 'One & all', anchor: 'one--all', depth: 1 }],
    })
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

  test('as a page has the state of each chain, three doors, and the first requests to its origin', async () => {
    const landing = landingOf([chain(8453, null), chain(56, 'a & b')])
    const html = await landingPage({ ...shell, root: './' }, landing, `https://host/'x'`, '<figure></figure>')
    expect(html).toContain('Chains <span class="pill bad">not ready</span>')
    expect(html).toMatch(/Chain &lt;8453&gt;<\/strong> <small>8453<\/small> <span class="pill good">ready</)
    expect(html).toMatch(
      /Chain &lt;56&gt;<\/strong> <small>56<\/small> <span class="pill bad">not ready<[\s\S]*a &amp; b</,
    )
    expect([...html.matchAll(/<section class="card"><h2>(\w+)</g)].map(([, title]) => title)).toEqual([
      'Explore',
      'Integrate',
      'Operate',
    ])
    for (const url of Object.values(landing.links)) expect(html).toContain(`<a href="./${url}">`)
    for (const url of ['explorer/', 'explorer/status', 'v1/docs/glossary'])
      expect(html).toContain(`<a href="./${url}">`)
    const shown = html
      .replaceAll(/<\/?span[^>]*>/g, '')
      .replaceAll('&#x27;', "'")
      .replaceAll('&amp;', '&')
    for (const { purpose, path } of landing.firstCalls) {
      expect(html).toContain(`<h3>${purpose}</h3>`)
      expect(shown).toContain(`curl -s 'https://host/'\\''x'\\''/${path}'`)
    }
    expect(html).toContain('class="hero with-figure"')
    expect(html).toContain('<link rel="alternate" type="application/json" href="./">')
  })

  test('as a page has no link to an explorer that is not served', async () => {
    const landing = landingOf([chain(56, null)])
    const html = await landingPage({ ...shell, root: './', explorer: false }, landing, '')
    expect(html).toContain('Chains <span class="pill good">ready</span>')
    expect(html).not.toContain('href="./explorer')
    expect(html).not.toContain('with-figure')
    expect([...html.matchAll(/<section class="card"><h2>(\w+)</g)].map(([, title]) => title)).toEqual([
      'Integrate',
      'Operate',
    ])
  })
})

test('the page for an address that does not exist has an escaped sentence, and links what exists', () => {
  const html = notFoundPage(shell, 'A sentence with <b>.')
  expect(html).toContain('<p class="lead">A sentence with &lt;b&gt;.</p>')
  for (const url of ['', 'explorer/', 'v1/docs/guide/quick-start', 'v1/docs'])
    expect(html).toContain(`<li><a href="../${url}">`)
  expect(notFoundPage({ ...shell, explorer: false }, '')).not.toContain('explorer')
})

const operations = [
  operationOf('getA', { tags: ['Service'], summary: 'A | B' }),
  operationOf('getB'),
  operationOf('postC', { method: 'POST', path: '/v1/c/{id}' }),
]

test('the index for language models lists the guide and the operations by tag', () => {
  const money = { name: 'money', path: 'guide/money', title: 'Money', summary: 'Units', markdown: '' }
  const glossary = { name: 'glossary', path: 'glossary', title: 'Glossary', summary: 'Terms', markdown: '' }
  const text = llmsText([money, glossary], operations)
  expect(text).toMatch(/^# FX-protection API\n\n> Reads and /)
  const parts = [
    '## Guide\n\n- [Money](v1/docs/guide/money.md): Units\n- [Glossary](v1/docs/glossary.md): Terms\n',
    '## Events\n\n- [GET /v1/getB](v1/docs/operations/getB.md): Do getB\n- [POST /v1/c/{id}](v1/docs/operations/postC.md): Do postC\n',
    '## Service\n\n- [GET /v1/getA](v1/docs/operations/getA.md): A | B\n',
    '## Optional\n\n- [OpenAPI description](v1/openapi.json): all operations and schemas as JSON\n',
  ]
  expect(text.slice(text.indexOf('## Guide'))).toBe(parts.join('\n'))
})

test('the reference lists the operations by tag, with their pages', async () => {
  const { html, headings } = await referenceHtml(operations)
  expect([...html.matchAll(/<h2 id="([^"]+)">/g)].map(([, id]) => id)).toEqual(['events', 'service'])
  expect(headings.map(({ anchor }) => anchor)).toEqual(['events', 'service'])
  const links = [
    ...html.matchAll(
      /<li><span class="method \w+">(\w+)<\/span> <code>([^<]+)<\/code> <a href="(docs\/operations[^"]+)">([^<]+)</g,
    ),
  ]
  expect(links.map(([, ...rest]) => rest)).toEqual([
    ['GET', '/v1/getB', 'docs/operations/getB', 'Do getB'],
    ['POST', '/v1/c/{id}', 'docs/operations/postC', 'Do postC'],
    ['GET', '/v1/getA', 'docs/operations/getA', 'A | B'],
  ])
  expect(html).toContain('<a href="openapi.json">')
})

test('the page of an operation has its request, its fields and its form before the response', async () => {
  const schema = {
    type: 'object',
    required: ['data'],
    properties: { data: { type: 'integer', description: 'second' } },
  }
  const operation = operationOf('postD', {
    ...{ method: 'POST', path: '/v1/plans/deposit', description: 'first `code`' },
    requestBody: {
      description: '',
      content: { 'application/json': { schema: { properties: { amount: {} } }, example: { amount: '1' } } },
    },
    responses: {
      200: { content: { 'application/json': { schema, example: { data: 1 } } } },
      404: { description: 'fourth | <i>' } as object,
    },
  })
  const { html, headings } = await operationHtml(documentOf({}), operation)
  const parts = ['first <code>code</code>', 'curl', 'id="body-amount"', '<form ', 'second', '<pre', 'fourth']
  const at = parts.map((part) => html.lastIndexOf(part))
  expect(Math.min(...at)).toBeGreaterThan(0)
  expect(headings.map(({ text }) => text)).toEqual([
    ...['Request', 'Body', 'Send it', 'Response', 'Example of a response', 'Errors'],
  ])
  const order = ['<h1>', 'id="request"', 'id="body"', '<form ', 'id="response"', 'id="errors"'].map((it) =>
    html.indexOf(it),
  )
  expect(order).toEqual(order.toSorted((a, b) => a - b))
  expect(html).toContain('<h1>Do postD</h1>')
  expect(html).toContain('<span class="method post">POST</span> <code>/v1/plans/deposit</code>')
  expect(html).toContain('<a href="../../docs#events">Events</a>')
  expect(html).toContain('<p>Guide: <a href="../guide/buying-and-claiming">Buying and claiming</a></p>')
  expect((await operationHtml(documentOf({}), operationOf('getB'))).headings.map(({ text }) => text)).toEqual([
    ...['Request', 'Send it'],
  ])
})
