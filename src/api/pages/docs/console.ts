import { escapeMarkup } from '../../../lib/http/markup.ts'
import type { Description } from '../../openapi/document.ts'
import { resolve, type Schema } from './fields.ts'
import { credentialsOf, type Operation, type Parameter } from './operation.ts'

/** A reader who opens a stream, or a long list, sees this many characters of it. */
const MAX_SHOWN = 200_000

/** The most lines of a body that are shown without scrolling. */
const MAX_ROWS = 20

/**
 * The script of the form: it sends the request and shows the response as it arrives. The root of the service is three
 * folders above the page of an operation, because a proxy may serve the API under a path.
 */
export const CONSOLE_SCRIPT = `
const form = document.querySelector('form')
const button = form.querySelector('button')
const output = form.querySelector('output')
const shown = form.querySelector('pre')
let running = null

const requestOf = () => {
  const headers = {}
  const query = new URLSearchParams()
  let path = form.dataset.path
  for (const { name, value, dataset } of form.querySelectorAll('input, select')) {
    if (value === '') continue
    if (dataset.in === 'path') path = path.replace('{' + name + '}', encodeURIComponent(value))
    else if (dataset.in === 'query') query.set(name, value)
    else headers[dataset.in] = dataset.prefix + value
  }
  const url = new URL('../../..' + path, location.href)
  url.search = query
  const body = form.querySelector('textarea')?.value
  if (body !== undefined) headers['content-type'] = 'application/json'
  return [url, { method: form.dataset.method, headers, body }]
}

const formatted = (text) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  if (running !== null) return running.abort()
  running = new AbortController()
  button.textContent = 'Stop'
  output.textContent = 'waiting'
  shown.textContent = ''
  try {
    const [url, init] = requestOf()
    const response = await fetch(url, { ...init, signal: running.signal })
    output.textContent = response.status + ' ' + response.statusText
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      text += read.value
      shown.textContent = text.slice(0, ${MAX_SHOWN})
      if (text.length > ${MAX_SHOWN}) {
        output.textContent += ', the first ${MAX_SHOWN} characters'
        running.abort()
        break
      }
    }
    if (text.length <= ${MAX_SHOWN}) shown.textContent = formatted(text)
  } catch (error) {
    output.textContent += running.signal.aborted ? ', stopped' : ': ' + error.message
  } finally {
    running = null
    button.textContent = 'Send'
  }
})
`

const attributes = (all: Readonly<Record<string, string | boolean>>): string =>
  Object.entries(all)
    .filter(([, value]) => value !== false)
    .map(([name, value]) => (value === true ? name : `${name}="${escapeMarkup(String(value))}"`))
    .join(' ')

const field = ({ name, in: place, required, example }: Parameter, schema: Schema): string => {
  const common = { name, required, 'data-in': place }
  const label = `<label><code>${escapeMarkup(name)}</code>${required ? ' <span class="required">required</span>' : ''}`
  const choices = schema.enum ?? ([schema.type].flat().includes('boolean') ? [true, false] : [])
  if (choices.length > 0) {
    const chosen = required ? (example ?? choices[0]) : ''
    const options = [...(required ? [] : ['']), ...choices].map(
      (it) =>
        `<option ${attributes({ value: String(it), selected: it === chosen })}>${escapeMarkup(String(it))}</option>`,
    )
    return `${label} <select ${attributes(common)}>${options.join('')}</select></label>`
  }
  const hint = required || example === undefined ? {} : { placeholder: String(example) }
  const value = required ? String(example ?? '') : ''
  const all = { ...common, value, spellcheck: 'false', autocomplete: 'off', ...hint }
  return `${label} <input ${attributes(all)}></label>`
}

const secret = ({ label, header, prefix }: NonNullable<ReturnType<typeof credentialsOf>>): string => {
  const all = { name: 'token', type: 'password', 'data-in': header, 'data-prefix': prefix, autocomplete: 'off' }
  return `<label>${label} <input ${attributes(all)}></label>`
}

/** The form that sends the request of an operation. */
export const consoleHtml = (document: Description, operation: Operation): string => {
  const { method, path, parameters = [], requestBody } = operation
  const credentials = credentialsOf(operation)
  const body = requestBody?.content['application/json']?.example
  const text = body === undefined ? '' : escapeMarkup(JSON.stringify(body, null, 2))
  const fields = parameters.map((it) => field(it, (resolve(document, it.schema) ?? {}) as Schema))
  const inputs = [...fields, ...(credentials === undefined ? [] : [secret(credentials)])]
  return `<form ${attributes({ 'data-method': method, 'data-path': path })}>
${inputs.length === 0 ? '' : `<div class="inputs">\n${inputs.join('\n')}\n</div>`}
${body === undefined ? '' : `<label>Body <textarea rows="${Math.min(text.split('\n').length + 1, MAX_ROWS)}" spellcheck="false">${text}</textarea></label>`}
<p><button>Send</button> <output aria-live="polite"></output></p>
<noscript>Sending needs JavaScript.</noscript>
<pre tabindex="0" aria-label="Response"></pre>
</form>
`
}
