import { info } from '../../openapi/texts.ts'
import type { GuidePage } from './guide.ts'
import { type Operation, tagsOf } from './operation.ts'

/**
 * The index of the documentation for language models, by https://llmstxt.org. Its URLs are relative, because a proxy
 * may serve the API under a path.
 */
export const llmsText = (guide: readonly GuidePage[], operations: readonly Operation[]): string => {
  const link = ({ operationId, method, path, summary }: Operation): string =>
    `- [${method} ${path}](v1/docs/operations/${operationId}.md): ${summary}`
  return [
    `# ${info.title}\n\n> ${info.summary}\n\n${info.description}\n\nURLs are relative to the URL of this file.\n`,
    `## Guide\n\n${guide.map(({ path, title, summary }) => `- [${title}](v1/docs/${path}.md): ${summary}`).join('\n')}\n`,
    ...tagsOf(operations).map(
      (tag) =>
        `## ${tag}\n\n${operations
          .filter((it) => it.tags.includes(tag))
          .map(link)
          .join('\n')}\n`,
    ),
    '## Optional\n\n- [OpenAPI description](v1/openapi.json): all operations and schemas as JSON\n',
  ].join('\n')
}
