import { isDecimal, type Schema } from './fields.ts'
import { credentialsOf, type Operation } from './operation.ts'

/** The base URL in samples, which the script of the pages replaces with that of the service. */
export const BASE_URL = 'http://127.0.0.1:3000'

type Samples = { readonly curl: string; readonly typescript: string | undefined }

const given = ({ parameters = [] }: Operation) => parameters.filter(({ example }) => example !== undefined)

const bodyOf = ({ requestBody }: Operation) => requestBody?.content['application/json']

const urlOf = (operation: Operation): string => {
  const values = given(operation)
  const path = values
    .filter((it) => it.in === 'path')
    .reduce((text, { name, example }) => text.replace(`{${name}}`, encodeURIComponent(String(example))), operation.path)
  const query = new URLSearchParams(
    values.filter((it) => it.in === 'query').map(({ name, example }) => [name, String(example)]),
  )
  return `${BASE_URL}${path}${query.size === 0 ? '' : `?${String(query).replaceAll('%2C', ',')}`}`
}

/** A text for a shell, which may have quotes. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** The longest body that is in one line. */
const MAX_LINE = 60

const bodyText = (body: unknown): string => {
  const line = JSON.stringify(body)
  return line.length <= MAX_LINE ? line : JSON.stringify(body, null, 2)
}

const curlOf = (operation: Operation): string => {
  const { method, responses } = operation
  const credentials = credentialsOf(operation)
  const body = bodyOf(operation)?.example
  const isStream = Object.keys(responses[200]?.content ?? {}).join() === 'text/event-stream'
  return [
    `curl -s${isStream ? 'N' : ''} ${quoted(urlOf(operation))}`,
    ...(body === undefined && method !== 'GET' ? [`-X ${method}`] : []),
    ...(credentials === undefined
      ? []
      : [`-H '${credentials.header}: ${credentials.prefix}${credentials.placeholder}'`]),
    ...(isStream ? [`-H 'accept: text/event-stream'`] : []),
    ...(body === undefined ? [] : [`-H 'content-type: application/json'`, `-d ${quoted(bodyText(body))}`]),
  ].join(' \\\n  ')
}

/** A value as an expression. The client has bigints where the description has integers in texts. */
const literal = (value: unknown, schema: Schema = {}): string => {
  if (typeof value === 'string')
    return isDecimal(schema) && [schema.type].flat().join() === 'string'
      ? `${BigInt(value).toLocaleString('en-US').replaceAll(',', '_')}n`
      : quotedText(value)
  if (Array.isArray(value)) return `[${value.map((each) => literal(each, (schema.items ?? {}) as Schema)).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const fields = Object.entries(value).map(([name, each]) => {
    const key = /^[a-z_$][\w$]*$/i.test(name) ? name : quotedText(name)
    return `${key}: ${literal(each, schema.properties?.[name] as Schema | undefined)}`
  })
  const line = `{ ${fields.join(', ')} }`
  return line.length <= 80 ? line : `{\n${fields.map((it) => `  ${it.replaceAll('\n', '\n  ')},`).join('\n')}\n}`
}

const quotedText = (text: string): string =>
  `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`

const camel = (text: string): string => text.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

/** An object of a sample from its entries without a value, or no text when none has one. */
const objectOf = (entries: Readonly<Record<string, string | undefined>>): string | undefined => {
  const given = Object.entries(entries).flatMap(([name, text]) => (text === undefined ? [] : [`${name}: ${text}`]))
  return given.length === 0 ? undefined : `{ ${given.join(', ')} }`
}

/** The recorded values of parameters as an expression; undefined without any. */
const valuesOf = (values: ReturnType<typeof given>): string | undefined => {
  if (values.length === 0) return undefined
  const properties = Object.fromEntries(values.map(({ name, schema }) => [name, schema]))
  return literal(Object.fromEntries(values.map(({ name, example }) => [name, example])), { properties })
}

const callOf = (operation: Operation): string => {
  const { method, path } = operation
  const body = bodyOf(operation)
  const values = given(operation)
  const credentials = credentialsOf(operation)
  const headers = credentials && literal({ [credentials.header]: `${credentials.prefix}${credentials.placeholder}` })
  const [, action] = /^\/v1\/plans\/([\w-]+)$/.exec(path) ?? []
  const sent = body && literal(body.example, body.schema as Schema)
  if (action !== undefined) return `client.plans.${camel(action)}(${sent})`
  const placed = (place: string) => valuesOf(values.filter((it) => it.in === place))
  const [first, options] =
    method === 'POST'
      ? [sent, objectOf({ params: placed('path'), query: placed('query'), headers })]
      : [valuesOf(values), objectOf({ headers })]
  const missing = method === 'POST' ? 'undefined' : '{}'
  const all = [`'${path}'`, first ?? (options && missing), options].filter((it) => it !== undefined)
  return `client.${method.toLowerCase()}(${all.join(', ')})`
}

/** The request of an operation with its recorded values. The client has no function for what is only a stream. */
export const samplesOf = (operation: Operation): Samples => {
  const schema = operation.responses[200]?.content?.['application/json']?.schema as Schema | undefined
  const isPlan = operation.path.startsWith('/v1/plans/')
  const name = isPlan ? 'plan' : schema?.properties?.data === undefined ? 'response' : '{ data }'
  return {
    curl: curlOf(operation),
    typescript:
      schema === undefined
        ? undefined
        : `import { createClient } from 'fx-protection-client'

const client = createClient({ baseUrl: '${BASE_URL}' })
const ${name} = await ${callOf(operation)}`,
  }
}
