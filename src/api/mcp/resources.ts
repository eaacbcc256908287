import { info } from '../openapi/texts.ts'
import { guidePages } from '../pages/docs/guide.ts'

/* The resources are the pages of the documentation that are Markdown, at their own URLs. */

export const MARKDOWN = 'text/markdown'

/** The index of the documentation, and the pages of the guide, by their paths. */
export const documents = [
  {
    path: '/llms.txt',
    name: 'index',
    title: `${info.title}: index of the documentation`,
    description: 'The pages of the guide and all operations',
    mimeType: 'text/plain',
  },
  ...guidePages.map(({ name, title, summary }) => ({
    ...{ path: `/v1/docs/guide/${name}.md`, name, title, description: summary, mimeType: MARKDOWN },
  })),
]

/** The template of the pages of operations, by the path of one. */
export const OPERATION_PAGE = '/v1/docs/operations/{operationId}.md'

/** The path of the document at a URL; undefined for what is no document. The host does not matter. */
export const documentAt = (url: string): string | undefined => {
  const path = URL.canParse(url) ? new URL(url).pathname : ''
  const isOperation = /^\/v1\/docs\/operations\/\w+\.md$/.test(path)
  return isOperation || documents.some((it) => it.path === path) ? path : undefined
}
