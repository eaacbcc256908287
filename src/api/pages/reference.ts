import { info } from '../openapi/texts.ts'
import { consoleHtml } from './console.ts'
import { pageOf } from './html.ts'
import { htmlOf } from './markdown.ts'
import { type Operation, tagsOf } from './operation.ts'

const cell = (text: string): string => text.replaceAll('|', '\\|')

/** The list of all operations, `/v1/docs`. */
export const referenceHtml = (operations: readonly Operation[]): string => {
  const sections = tagsOf(operations).map((tag) => {
    const rows = operations
      .filter(({ tags }) => tags.includes(tag))
      .map((it) => `| [\`${it.method} ${it.path}\`](docs/operations/${it.operationId}) | ${cell(it.summary)} |`)
    return `## ${tag}\n\n| operation | purpose |\n| --- | --- |\n${rows.join('\n')}\n`
  })
  const nav = [
    '<a href="../">Start</a>',
    '<a href="docs/guide/quick-start">Guide</a>',
    '<a href="openapi.json">OpenAPI description</a>',
  ]
  const intro = 'The page of an operation has its fields, examples and errors, and a form that sends it.'
  const body = htmlOf(`# Reference\n\n${info.description}\n\n${intro}\n\n${sections.join('\n')}`)
  return pageOf({ title: `Reference: ${info.title}`, nav, body, twin: { type: 'text/plain', url: '../llms.txt' } })
}

/** The page of an operation: its Markdown, and the form that sends it. */
export const operationHtml = (operation: Operation, markdown: string, script: string): string => {
  const { operationId, summary, tags } = operation
  const nav = [
    '<a href="../../../">Start</a>',
    `<a href="../../docs#${tags[0]?.toLowerCase()}">Reference</a>`,
    '<a href="#console">Send it</a>',
  ]
  const twin = { type: 'text/markdown', url: `${operationId}.md` }
  // The form comes before the response, which is the longest part.
  const [request = '', ...rest] = markdown.split(/(?=\n## Response\n)/)
  const body = htmlOf(request) + consoleHtml(operation, script) + htmlOf(rest.join(''))
  return pageOf({ title: summary, nav, body, twin })
}
