import { escapeMarkup } from '../../../lib/http/markup.ts'
import type { Description } from '../../openapi/document.ts'
import { info, tags } from '../../openapi/texts.ts'
import { anchorOf, type Heading, headingHtml, inlineOf, type Rendered, render } from '../markdown.ts'
import { consoleHtml } from './console.ts'
import { headingOf } from './contents.ts'
import { fieldsHtml, parameterHtml } from './field-html.ts'
import { fieldsOf, resolve, type Schema } from './fields.ts'
import { guidePageOf } from './guide.ts'
import { errorsOf, examples, type Operation, schemaOf, successOf, tagsOf } from './operation.ts'
import { samplesHtml } from './sample-html.ts'

const methodHtml = (method: string): string => `<span class="method ${method.toLowerCase()}">${method}</span>`

/** The list of all operations, `/v1/docs`. */
export const referenceHtml = async (operations: readonly Operation[]): Promise<Rendered> => {
  const used = tagsOf(operations)
  const sections = used.map((tag) => {
    const rows = operations
      .filter((it) => it.tags.includes(tag))
      .map(
        (it) =>
          `<li>${methodHtml(it.method)} <code>${escapeMarkup(it.path)}</code> <a href="docs/operations/${it.operationId}">${escapeMarkup(it.summary)}</a></li>`,
      )
    return `${headingHtml(2, tag)}<p>${escapeMarkup(tags[tag] ?? '')}.</p>\n<ul class="operations">${rows.join('\n')}</ul>\n`
  })
  const intro =
    'The page of an operation has its fields, examples and errors, and a form that sends it. The [OpenAPI description](openapi.json) has the same for programs.'
  const { html } = await render(`# Reference\n\n${info.description}\n\n${intro}\n`)
  return { html: html + sections.join(''), headings: used.map(headingOf) }
}

type Part = { readonly title: string; readonly html: string }

/** The page of an operation. `script` is the URL of the script of its form, without which the page is complete too. */
export const operationHtml = async (document: Description, operation: Operation): Promise<Rendered> => {
  const { method, path, summary, description, tags: own, parameters = [], requestBody } = operation
  const success = successOf(document, operation)
  const [tag = ''] = own
  const page = guidePageOf(path)
  const text = async (markdown: string): Promise<string> => (await render(markdown)).html
  const named = parameters.map((it) => parameterHtml(it, (resolve(document, it.schema) ?? {}) as Schema))
  const errors = errorsOf(document, operation).map(
    ([status, meaning]) => `<li><p class="field"><code>${status}</code></p><p>${inlineOf(meaning)}</p></li>`,
  )
  const list = (items: readonly string[]): string =>
    items.length === 0 ? '' : `<ul class="fields">${items.join('\n')}</ul>\n`
  const bodyFields = fieldsOf(document, schemaOf(requestBody?.content))
  // The form comes before the response, which is the longest part.
  const parts: readonly Part[] = [
    { title: 'Request', html: await samplesHtml(operation) },
    { title: 'Parameters', html: list(named) },
    { title: 'Body', html: fieldsHtml(bodyFields, 'body', 'required') },
    { title: 'Send it', html: consoleHtml(document, operation) },
    { title: 'Response', html: fieldsHtml(fieldsOf(document, schemaOf(success)), 'response', 'optional') },
    { title: 'Example of a response', html: await text(examples(success)) },
    { title: 'Errors', html: list(errors) },
  ].filter(({ html }) => html !== '')
  const guide = page === undefined ? '' : `<p>Guide: <a href="../guide/${page.name}">${page.title}</a></p>\n`
  return {
    html: `<p class="trail"><a href="../../docs">Reference</a> / <a href="../../docs#${anchorOf(tag)}">${escapeMarkup(tag)}</a></p>
<h1>${escapeMarkup(summary)}</h1>
<p class="route">${methodHtml(method)} <code>${escapeMarkup(path)}</code></p>
${await text(description)}${guide}${parts.map(({ title, html }) => headingHtml(2, title) + html).join('')}`,
    headings: parts.map(({ title }): Heading => headingOf(title)),
  }
}
