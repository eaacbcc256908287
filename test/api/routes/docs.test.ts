import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApp } from '../../support/app.ts'
import { operations } from '../../support/openapi.ts'
import { byForm } from '../../support/repetitions.ts'

let api: Awaited<ReturnType<typeof openApp>>
beforeAll(async () => {
  api = await openApp({})
})
afterAll(() => api?.close())

/** The operations whose pages a run reads: by default one in eight, as small tests of the pages cover their parts. */
const tried = byForm(
  operations.filter((_, at) => at % 8 === 0),
  operations,
)

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

const read = (url: string, accept = '*/*') => api.app.inject({ url, headers: { accept } })

/** The relative links of a page or text, from the root of the service. */
const linksOf = (url: string, text: string): readonly string[] =>
  [...text.matchAll(/href="([^"#]+)"|\]\(([^)#]+)[)#]/g)]
    .map(([, html, markdown]) => new URL(html ?? markdown ?? '', `http://service${url}`))
    .filter(({ protocol }) => protocol !== 'data:')
    .map(({ pathname, search, host }) => {
      if (host !== 'service') throw new Error(`a link to another service: ${host}`)
      return pathname + search
    })

test.each([
  ['*/*', 'application/json'],
  ['', 'application/json'],
  ['application/json', 'application/json'],
  ['application/json, text/html', 'application/json'],
  ['text/html;q=0', 'application/json'],
  ['image/png', 'application/json'],
  [BROWSER, 'text/html'],
  ['text/html', 'text/html'],
])('a client that accepts %j gets the landing page as %s', async (accept, type) => {
  const { statusCode, headers } = await read('/', accept)
  expect([statusCode, headers['content-type']]).toEqual([200, `${type}; charset=utf-8`])
})

test('the landing page and its JSON report why a chain is not ready', async () => {
  const { data } = (await read('/')).json()
  expect(data.ready).toBe(false)
  expect(data.chains.map(({ chainId }: { chainId: number }) => chainId)).toEqual([8453, 56])
  const { body } = await read('/', BROWSER)
  expect(body).toContain('<span class="pill bad">not ready</span>')
  for (const { problem } of data.chains) expect(body).toContain(problem)
})

test('the landing page is smaller than 30 KB, loads its style and script only, and escapes the host that the request names', async () => {
  const host = `a"><script>alert('1')</script>`
  const { body, headers } = await api.app.inject({ url: '/', headers: { accept: BROWSER, host } })
  expect(Buffer.byteLength(body)).toBeLessThan(30_000)
  expect(body.match(/<script|src=|rel="stylesheet"/g)).toEqual(['rel="stylesheet"', '<script', 'src='])
  expect(body).not.toMatch(/<style|@import|url\(/)
  expect(headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'self'; script-src 'self';/)
})

test('every link of every page and of llms.txt leads to a page, and guide pages and operations have Markdown', async () => {
  const seen = new Map<string, string>()
  const linked = new Set<string>()
  const queue = ['/']
  for (let url = queue.shift(); url !== undefined; url = queue.shift()) {
    // The state and the lists need services that are out of reach here, and the explorer is another part.
    if (seen.has(url) || /^\/(?:status|explorer|v1\/hedge)/.test(url)) continue
    const [, id] = /^\/v1\/docs\/operations\/(\w+)/.exec(url) ?? []
    if (id !== undefined) linked.add(id)
    if (id !== undefined && !tried.some(({ operationId }) => operationId === id)) continue
    const { statusCode, headers, body } = await read(url, BROWSER)
    expect([url, statusCode]).toEqual([url, 200])
    const type = String(headers['content-type']).split(';')[0] ?? ''
    seen.set(url, type)
    if (/html|plain/.test(type)) queue.push(...linksOf(url, body))
    if (type === 'text/markdown' && !url.includes('/operations/')) queue.push(...linksOf(url, body))
  }
  const guide = readdirSync('docs/guide')
  expect(guide.length).toBeGreaterThan(5)
  for (const page of guide) {
    expect(seen.get(`/v1/docs/guide/${page}`)).toBe('text/markdown')
    expect(seen.get(`/v1/docs/guide/${page.slice(0, -3)}`)).toBe('text/html')
  }
  for (const page of ['glossary', 'pricing', 'study/README']) {
    expect(seen.get(`/v1/docs/${page}.md`)).toBe('text/markdown')
    expect(seen.get(`/v1/docs/${page}`)).toBe('text/html')
  }
  expect(seen.get('/v1/docs/images/payoff-usd-ghs.svg')).toBe('image/svg+xml')
  expect([...linked].toSorted()).toEqual(operations.map(({ operationId }) => operationId).toSorted())
  for (const { operationId } of tried) expect(seen.get(`/v1/docs/operations/${operationId}.md`)).toBe('text/markdown')
})

test('the Markdown of an operation has its parameters, the fields of its body and response, its errors, and a form', async () => {
  for (const { operationId, method, path, parameters, responses } of tried) {
    const { body } = await read(`/v1/docs/operations/${operationId}.md`)
    expect(body).toContain(`\`${method} ${path}\``)
    for (const { name, description } of parameters) {
      expect(body).toContain(`| \`${name}\` `)
      expect(body).toContain(description.split('|')[0])
    }
    for (const status of Object.keys(responses)) if (status !== '200') expect(body).toContain(`| ${status} |`)
    const page = (await read(`/v1/docs/operations/${operationId}`)).body
    expect(page.match(/<form data-method="[^"]+" data-path="[^"]+">/g)).toEqual([
      `<form data-method="${method}" data-path="${path}">`,
    ])
    for (const { name, in: place } of parameters)
      expect(page).toMatch(new RegExp(`<(?:input|select) name="${name}"[^>]* data-in="${place}"`))
    for (const { name } of parameters) expect(page).toContain(`<li id="parameter-${name}">`)
    expect(body).toMatch(/\n## Example of a response\n\n```(?:json|text)\n/)
  }
  const { body } = await read('/v1/docs/operations/buildDeposit.md')
  expect(body).toMatch(/\n## Body\n[^#]*\| `amount` decimal string \|/)
  expect(body).toMatch(/\n## Response\n[^#]*\| `data\.simulation\.code` string or null \|/)
})

test('a page of an operation that does not exist is a 404', async () => {
  const { statusCode, body } = await read('/v1/docs/operations/__proto__.md')
  expect([statusCode, JSON.parse(body).error.code]).toEqual([404, 'not_found'])
})

const missing = ['/v1/docs/operations/none', '/v1/docs/guide/none.md', '/v1/docs/none', '/docs']

test.each(missing)('the 404 of %s names the page that lists the documentation', async (url) => {
  const { statusCode, body } = await read(url)
  expect([statusCode, JSON.parse(body).error.message]).toEqual([404, expect.stringMatching(/\/v1\/docs(?: lists|$)/)])
})

test.each([...missing, '/a/b/c/<script>', '/v1/plans/deposit'])(
  'a browser gets the 404 of %s as a page',
  async (url) => {
    const { statusCode, headers, body } = await read(url, BROWSER)
    expect([statusCode, headers['content-type']]).toEqual([404, 'text/html; charset=utf-8'])
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      link: expect.stringMatching(/errors#not_found>; rel="help"$/),
    })
    expect(headers['content-security-policy']).toMatch(/^default-src 'none';/)
    expect(body).toContain('<h1>No such page</h1>')
    expect(body).not.toMatch(/<script>|no route|no operation/)
    expect(body).toContain(url === '/v1/plans/deposit' ? 'takes POST requests' : 'The address may be mistyped')
    // Its links lead to pages from wherever it is.
    const links = linksOf(url, body)
    expect(links).toContain('/v1/docs/guide/quick-start')
    for (const asset of links.filter((link) => link.includes('?v=')))
      expect((await read(asset)).headers['cache-control']).toContain('immutable')
  },
)

test('a 404 is JSON for a program, for any other method, and for a record', async () => {
  const type = async (options: object) => (await api.app.inject({ url: '/none', ...options })).headers['content-type']
  expect(await type({ headers: { accept: 'application/json, text/html' } })).toBe('application/json; charset=utf-8')
  expect(await type({ headers: { accept: BROWSER }, method: 'POST' })).toBe('application/json; charset=utf-8')
  expect(await type({ headers: { accept: BROWSER }, url: `/${'a/'.repeat(20)}` })).toBe(
    'application/json; charset=utf-8',
  )
  expect(await type({ headers: { accept: BROWSER }, url: '/v1/hedge/paused/1' })).toBe(
    'application/json; charset=utf-8',
  )
  expect(await type({ headers: { accept: BROWSER } })).toBe('text/html; charset=utf-8')
})

test('the reference and llms.txt list plans before builders, and llms.txt describes each page of the guide', async () => {
  const [reference, llms] = [(await read('/v1/docs', BROWSER)).body, (await read('/llms.txt')).body]
  const order = [...reference.matchAll(/<h2 id="[^"]+">(\w+)</g)].map(([, tag]) => tag)
  expect(order.length).toBeGreaterThan(10)
  expect([...llms.matchAll(/^## (\w+)$/gm)].map(([, tag]) => tag)).toEqual(['Guide', ...order, 'Optional'])
  expect(order.indexOf('Plans')).toBeGreaterThan(order.indexOf('Wallets'))
  expect(order.indexOf('Transactions')).toBeGreaterThan(order.indexOf('Plans'))
  expect(order.indexOf('Governance')).toBeGreaterThan(order.indexOf('Transactions'))
  const pages = [...llms.matchAll(/^- \[[^\]]+\]\(v1\/docs\/guide\/[\w-]+\.md\): .{20,}$/gm)]
  expect(pages).toHaveLength(readdirSync('docs/guide').length)
})

test.each([
  ['planBuyProtection', 'buying-and-claiming'],
  ['buildDeposit', 'buying-and-claiming'],
  ['getHedgePositions', 'pagination'],
  ['getHedgeSettlements', 'settlements'],
  ['getHedgeQuotePayoutById', 'money'],
  ['getReverts', 'errors'],
])('the page of the operation %s links the page %s of the guide', async (id, page) => {
  expect((await read(`/v1/docs/operations/${id}.md`)).body).toContain(`](../guide/${page}.md)`)
  expect((await read(`/v1/docs/operations/${id}`)).body).toContain(`href="../guide/${page}"`)
})

test('the Markdown of an operation has the values that a parameter takes', async () => {
  const { body } = await read('/v1/docs/operations/getHedgeEvents.md')
  expect(body).toContain('| `state` query, `open` or `expired` or `settled` or `triggered` |')
})

test('the search finds each page of the guide, each term of the glossary and each operation, at an address that exists', async () => {
  const entries: { kind: string; title: string; place: string; url: string; text: string }[] = (
    await read('/v1/docs/search.json')
  ).json()
  const titlesOf = (kind: string) => entries.filter((it) => it.kind === kind).map(({ title }) => title)
  expect(titlesOf('guide')).toEqual(expect.arrayContaining(['Quick start', 'Prices', 'When a quote is signed']))
  expect(titlesOf('term')).toEqual(expect.arrayContaining(['premium rate, premium', 'ledger', 'tier']))
  expect(titlesOf('operation')).toHaveLength(operations.length)
  const anchors = new Map<string, string>()
  for (const { url, title, text } of entries) {
    const [page = '', anchor] = url.split('#')
    if (page.includes('/operations/')) continue
    if (!anchors.has(page)) anchors.set(page, (await read(`/${page}`)).body)
    if (anchor !== undefined) expect([title, anchors.get(page)?.includes(`id="${anchor}"`)]).toEqual([title, true])
    expect([title, /[|`]/.test(text)]).toEqual([title, false])
  }
  expect(anchors.size).toBe(readdirSync('docs/guide').length + 3)
})

test.each([
  ['/v1/docs/', '/v1/docs'],
  ['/v1/docs/guide/money/?a=1', '/v1/docs/guide/money?a=1'],
  ['/v1/docs/operations/getChains/', '/v1/docs/operations/getChains'],
])(
  'the address %s with a slash at its end leads to %s, from which the links of the page are right',
  async (url, target) => {
    const { statusCode, headers } = await read(url, BROWSER)
    expect(statusCode).toBe(308)
    const { pathname, search } = new URL(String(headers.location), `http://service${url}`)
    expect(pathname + search).toBe(target)
  },
)

test('the documentation of a service without /mcp has no page about it', async () => {
  const without = await openApp({ mcp: false })
  const urls = ['/llms.txt', '/v1/docs/guide/quick-start', '/v1/docs/search.json'] as const
  for (const url of urls) expect((await without.app.inject(url)).body).not.toMatch(/guide\/assistants|\/mcp/)
  expect((await without.app.inject('/v1/docs/guide/assistants')).statusCode).toBe(404)
  await without.close()
  for (const url of urls) expect((await read(url)).body).toMatch(/guide\/assistants/)
})
