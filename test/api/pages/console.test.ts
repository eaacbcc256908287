import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import type { Description } from '../../../src/api/openapi/document.ts'
import { CONSOLE_SCRIPT, consoleHtml } from '../../../src/api/pages/docs/console.ts'
import type { Operation } from '../../../src/api/pages/docs/operation.ts'

/* The form that sends a request: its HTML, and its script with the few elements that it uses. */

const operation: Operation = {
  ...{ operationId: 'getThing', summary: 'A thing', description: 'One.', tags: ['Service'], method: 'GET' },
  ...{ path: '/v1/things/{id}', responses: {} },
}

const form = (own: Partial<Operation>): string =>
  consoleHtml({ components: { schemas: {} } } as unknown as Description, { ...operation, ...own })

describe('the form of an operation', () => {
  test('has the method, the path and a field for each parameter, with the example of a required one', () => {
    const html = form({
      parameters: [
        { name: 'id', in: 'path', required: true, example: 7 },
        { name: 'note', in: 'query', required: false, example: 'a "b"' },
        { name: 'bare', in: 'query', required: true },
        { name: 'free', in: 'query', required: false },
      ],
    })
    const input = (attributes: string) => `<input ${attributes}></label>`
    const rest = 'spellcheck="false" autocomplete="off"'
    expect(html).toContain('<form data-method="GET" data-path="/v1/things/{id}">')
    expect(html).toContain(
      `<label><code>id</code> <span class="required">required</span> ${input(`name="id" required data-in="path" value="7" ${rest}`)}`,
    )
    expect(html).toContain(
      `<code>note</code> ${input(`name="note" data-in="query" value="" ${rest} placeholder="a &quot;b&quot;"`)}`,
    )
    expect(html).toContain(input(`name="bare" required data-in="query" value="" ${rest}`))
    expect(html).toContain(input(`name="free" data-in="query" value="" ${rest}`))
    expect(html).not.toMatch(/textarea|token/)
    expect(form({})).not.toContain('class="inputs"')
  })

  test('has choices for a parameter with fixed values', () => {
    const schema = { enum: ['a', '"b"'] }
    const html = form({
      parameters: [
        { name: 'one', in: 'query', required: false, schema, example: 'a' },
        { name: 'two', in: 'query', required: true, schema, example: '"b"' },
        { name: 'three', in: 'query', required: true, schema },
        { name: 'four', in: 'query', required: false, schema: { type: 'boolean' } },
      ],
    })
    const b = (attributes = '') => `<option value="&quot;b&quot;"${attributes}>&quot;b&quot;</option></select>`
    expect(html).toContain(
      `<select name="one" data-in="query"><option value="" selected></option><option value="a">a</option>${b()}`,
    )
    expect(html).toContain(`<select name="two" required data-in="query"><option value="a">a</option>${b(' selected')}`)
    expect(html).toContain(`<select name="three" required data-in="query"><option value="a" selected>a</option>${b()}`)
    expect(html).toContain(
      '<select name="four" data-in="query"><option value="" selected></option><option value="true">true</option><option value="false">false</option></select>',
    )
  })

  test('has the example of a body, and a field for the token only where one is required', () => {
    const body = { note: '</textarea><b>', id: 1 }
    const requestBody = { description: 'At most 1 byte', content: { 'application/json': { example: body } } }
    const html = form({ requestBody, security: [{ bearer: [] }] })
    const text = '{\n  &quot;note&quot;: &quot;&lt;/textarea&gt;&lt;b&gt;&quot;,\n  &quot;id&quot;: 1\n}'
    expect(html).toContain(`<textarea rows="5" spellcheck="false">${text}</textarea>`)
    expect(html).toContain(
      '<label>Bearer token <input name="token" type="password" data-in="authorization" data-prefix="Bearer " autocomplete="off">',
    )
    expect(form({ security: [{ integratorKey: [] }] })).toContain(
      '<label>Key <input name="token" type="password" data-in="x-api-key" data-prefix="" autocomplete="off">',
    )
    expect(form({})).not.toContain('token')
    const content = { 'application/json': { example: Array.from({ length: 30 }, () => 1) } }
    expect(form({ requestBody: { description: '', content } })).toContain('<textarea rows="20"')
  })
})

type Input = {
  readonly name: string
  readonly value: string
  readonly in: string
  readonly prefix?: string
  readonly tag?: 'select'
}

type Page = {
  readonly inputs?: readonly Input[]
  readonly body?: string
  readonly path?: string
  readonly method?: string
}

/** A page with the form, whose requests a test answers. */
const open = ({ inputs = [], body, path = '/v1/things', method = 'GET' }: Page, answer: () => unknown) => {
  const elements: Record<string, { textContent: string; value?: string }> = {
    ...{ button: { textContent: 'Send' }, output: { textContent: '' }, pre: { textContent: 'old' } },
    ...(body !== undefined && { textarea: { textContent: '', value: body } }),
  }
  let submit: (event: object) => Promise<void> = async () => {}
  const form = {
    dataset: { path, method },
    querySelector: (name: string) => elements[name] ?? null,
    querySelectorAll: (tags: string) =>
      inputs
        .filter(({ tag = 'input' }) => tags.split(', ').includes(tag))
        .map(({ name, value, in: place, prefix = '' }) => ({ name, value, dataset: { in: place, prefix } })),
    addEventListener: (_: 'submit', listener: typeof submit) => {
      submit = listener
    },
  }
  const sent: { url: string; init: { signal: AbortSignal; method: string; headers: object; body?: string } }[] = []
  const fetch = async (url: URL, init: (typeof sent)[number]['init']) => {
    sent.push({ url: url.href, init })
    return answer()
  }
  runInNewContext(CONSOLE_SCRIPT, {
    document: { querySelector: () => form },
    location: new URL('http://service/api/v1/docs/operations/getThing'),
    ...{ fetch, URL, URLSearchParams, AbortController, TextDecoderStream },
  })
  let prevented = 0
  const send = () => submit({ preventDefault: () => (prevented += 1) })
  const shown = () => ['button', 'output', 'pre'].map((name) => elements[name]?.textContent)
  return { send, sent, shown, prevented: () => prevented }
}

const json = (value: unknown) => () => Response.json(value, { status: 200, statusText: 'OK' })

test('a request has its parameters in the path and the query, below the path of the proxy', async () => {
  const inputs = [
    { name: 'id', value: 'a/b', in: 'path' },
    { name: 'limit', value: '5 0', in: 'query', tag: 'select' as const },
    { name: 'cursor', value: '', in: 'query' },
    { name: 'token', value: 'abc', in: 'authorization', prefix: 'Bearer ' },
    { name: 'token', value: 'k', in: 'x-api-key' },
  ]
  const { send, sent, prevented } = open({ inputs, path: '/v1/things/{id}/all' }, json({}))
  await send()
  expect(sent[0]?.url).toBe('http://service/api/v1/things/a%2Fb/all?limit=5+0')
  expect(sent[0]?.init).toMatchObject({ method: 'GET', headers: { authorization: 'Bearer abc', 'x-api-key': 'k' } })
  expect(sent[0]?.init.body).toBeUndefined()
  expect(prevented()).toBe(1)
})

test('a body is sent as JSON, and a request without a token has no credentials', async () => {
  const { send, sent } = open({ body: '{"a":1}', method: 'POST' }, json({}))
  await send()
  expect(sent[0]?.init).toMatchObject({
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"a":1}',
  })
  expect(sent[0]?.init.headers).not.toHaveProperty('authorization')
  const bare = open({}, json({}))
  await bare.send()
  expect(bare.sent[0]?.init.headers).toEqual({})
})

test('the response is shown with its status, and JSON with line breaks', async () => {
  const { send, shown } = open({}, json({ a: [1] }))
  await send()
  expect(shown()).toEqual(['Send', '200 OK', '{\n  "a": [\n    1\n  ]\n}'])
  const text = open({}, () => new Response('no JSON', { status: 502, statusText: 'Bad Gateway' }))
  await text.send()
  expect(text.shown()).toEqual(['Send', '502 Bad Gateway', 'no JSON'])
})

test.each([
  [200_000, '200 OK'],
  [200_001, '200 OK, the first 200000 characters'],
])('of %i characters the first 200,000 are shown', async (length, status) => {
  const { send, shown, sent } = open({}, () => new Response('a'.repeat(length), { status: 200, statusText: 'OK' }))
  await send()
  const [button, output, text = ''] = shown()
  expect([button, output, text.length]).toEqual(['Send', status, 200_000])
  expect(sent[0]?.init.signal.aborted).toBe(length > 200_000)
})

test('a stream is shown as it arrives, until the button is used again', async () => {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  const body = new ReadableStream<Uint8Array>({
    start(it) {
      controller = it
    },
  })
  const { send, sent, shown } = open({}, () => new Response(body, { status: 200, statusText: 'OK' }))
  const running = send()
  expect(shown()).toEqual(['Stop', 'waiting', ''])
  for (const [chunk, text] of [
    ['id: 1\n', 'id: 1\n'],
    ['id: 2\n', 'id: 1\nid: 2\n'],
  ]) {
    controller?.enqueue(new TextEncoder().encode(chunk))
    await expect.poll(() => shown()[2]).toBe(text)
  }
  sent[0]?.init.signal.addEventListener('abort', () => controller?.error(new Error('aborted')))
  await send()
  await running
  expect(sent).toHaveLength(1)
  expect(shown()).toEqual(['Send', '200 OK, stopped', 'id: 1\nid: 2\n'])
})

test('a failure is shown, and the form can be used again', async () => {
  const { send, shown, sent } = open({}, () => Promise.reject(new Error('no connection')))
  await send()
  expect(shown()).toEqual(['Send', 'waiting: no connection', ''])
  await send()
  expect(sent).toHaveLength(2)
})
