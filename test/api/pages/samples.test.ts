import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { type Operation, operationsOf } from '../../../src/api/pages/docs/operation.ts'
import { samplesHtml } from '../../../src/api/pages/docs/sample-html.ts'
import { samplesOf } from '../../../src/api/pages/docs/samples.ts'
import { document } from '../../support/openapi.ts'

const run = promisify(execFile)

const operation: Operation = {
  ...{ operationId: 'getThing', summary: 'A thing', description: 'One.', tags: ['Service'], method: 'GET' },
  ...{ path: '/v1/things/{id}', responses: {} },
}

const json = (example: unknown, schema: object = {}) => ({ 'application/json': { example, schema } })
const data = { 200: { content: json(undefined, { properties: { data: {} } }) } }

test('a read has the recorded values in its path and its query', () => {
  const parameters = [
    { name: 'id', in: 'path', required: true, example: 'a/b' },
    { name: 'wallets', in: 'query', required: false, example: '1,2' },
    { name: 'none', in: 'query', required: false },
  ]
  const { curl, typescript } = samplesOf({ ...operation, parameters, responses: data })
  expect(curl).toBe("curl -s 'http://127.0.0.1:3000/v1/things/a%2Fb?wallets=1,2'")
  expect(typescript?.split('\n').slice(2)).toEqual([
    "const client = createClient({ baseUrl: 'http://127.0.0.1:3000' })",
    "const { data } = await client.get('/v1/things/{id}', { id: 'a/b', wallets: '1,2' })",
  ])
  expect(samplesOf({ ...operation, responses: data }).typescript).toContain("client.get('/v1/things/{id}')")
})

test('a body is quoted for the shell, and its amounts are bigints in TypeScript', () => {
  const schema = { properties: { amount: { type: 'string', pattern: '^\\d+$' }, 'a-b': { items: {} } } }
  const requestBody = { description: '', content: json({ amount: '1000000', 'a-b': ["it's"], n: null }, schema) }
  const { curl, typescript } = samplesOf({ ...operation, method: 'POST', path: '/v1/x', requestBody, responses: data })
  expect(curl).toBe(
    `curl -s 'http://127.0.0.1:3000/v1/x' \\\n  -H 'content-type: application/json' \\\n  -d '{"amount":"1000000","a-b":["it'\\''s"],"n":null}'`,
  )
  expect(typescript).toContain(`await client.post('/v1/x', { amount: 1_000_000n, 'a-b': ['it\\'s'], n: null })`)
})

test('a long body has a line for each field', () => {
  const requestBody = { description: '', content: json({ amount: '1'.repeat(50), id: 1 }) }
  const { curl } = samplesOf({ ...operation, method: 'POST', path: '/v1/x', requestBody, responses: data })
  expect(curl.split('\n').slice(2)).toEqual(["  -d '{", `  "amount": "${'1'.repeat(50)}",`, '  "id": 1', "}'"])
})

test('a plan is a function of the client, a token is a header, and a stream has no function', () => {
  const content = json({ id: 1 })
  const requestBody = { description: '', content }
  const plan = samplesOf({ ...operation, method: 'POST', path: '/v1/plans/claim-all', requestBody, responses: data })
  expect(plan.typescript).toContain('const plan = await client.plans.claimAll({ id: 1 })')
  const me = samplesOf({ ...operation, path: '/v1/me', security: [{ bearer: [] }], responses: { 200: { content } } })
  expect(me.curl).toBe("curl -s 'http://127.0.0.1:3000/v1/me' \\\n  -H 'authorization: Bearer TOKEN'")
  expect(me.typescript).toContain(
    "const response = await client.get('/v1/me', {}, { headers: { authorization: 'Bearer TOKEN' } })",
  )
  const stream = samplesOf({ ...operation, responses: { 200: { content: { 'text/event-stream': {} } } } })
  expect(stream).toEqual({
    curl: "curl -sN 'http://127.0.0.1:3000/v1/things/{id}' \\\n  -H 'accept: text/event-stream'",
    typescript: undefined,
  })
})

test('an operation with a key, without a body or that removes something has its method and its key', () => {
  const parameters = [
    { name: 'id', in: 'path', required: true, example: 'we_1' },
    { name: 'all', in: 'query', required: false, example: true },
  ]
  const keyed = { ...operation, path: '/v1/hooks/{id}', parameters, security: [{ integratorKey: [] }], responses: data }
  const rotate = samplesOf({ ...keyed, method: 'POST' })
  const header = "-H 'x-api-key: KEY'"
  expect(rotate.curl).toBe(`curl -s 'http://127.0.0.1:3000/v1/hooks/we_1?all=true' \\\n  -X POST \\\n  ${header}`)
  expect(rotate.typescript).toContain(
    "await client.post('/v1/hooks/{id}', undefined, { params: { id: 'we_1' }, query: { all: true }, headers: { 'x-api-key': 'KEY' } })",
  )
  const remove = samplesOf({ ...keyed, method: 'DELETE' })
  expect(remove.curl).toBe(`curl -s 'http://127.0.0.1:3000/v1/hooks/we_1?all=true' \\\n  -X DELETE \\\n  ${header}`)
  expect(remove.typescript).toContain(
    "await client.delete('/v1/hooks/{id}', { id: 'we_1', all: true }, { headers: { 'x-api-key': 'KEY' } })",
  )
})

test('the samples are tabs whose addresses a script can replace, and their text is escaped', async () => {
  const parameters = [{ name: 'q', in: 'query', required: true, example: '<b>' }]
  const html = await samplesHtml({ ...operation, parameters, responses: data })
  expect(html.match(/<input type="radio" name="sample"/g)).toHaveLength(2)
  expect(html).toContain('<label for="sample-1">TypeScript</label>')
  expect(html.match(/<span data-base>http:\/\/127\.0\.0\.1:3000<\/span>/g)).toHaveLength(2)
  expect(html).not.toContain('<b>')
  expect(await samplesHtml(operation)).not.toContain('TypeScript')
})

test('the TypeScript of every operation compiles with the client', async () => {
  await mkdir('node_modules/.cache', { recursive: true })
  const folder = await mkdtemp(join('node_modules/.cache', 'samples-'))
  try {
    const described = operationsOf(document as never)
    const samples = described.flatMap((it) => {
      const { typescript } = samplesOf(it)
      return typescript === undefined ? [] : [{ name: `${it.operationId}.mts`, typescript }]
    })
    expect(samples.length).toBeGreaterThan(described.length - 5)
    for (const { name, typescript } of samples) await writeFile(join(folder, name), typescript)
    const files = samples.map(({ name }) => name)
    const settings = { extends: '../../../tsconfig.json', include: [], files }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(settings))
    const compiler = 'node_modules/typescript-7/bin/tsc'
    const failed = await run(process.execPath, [compiler, '--noEmit', '--singleThreaded', '-p', folder]).then(
      () => '',
      ({ stdout }) => String(stdout),
    )
    expect(failed).toBe('')
  } finally {
    await rm(folder, { recursive: true })
  }
})
