import { readFile } from 'node:fs/promises'
import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { packaged } from '../../lib/root.ts'
import { envelope, errorResponses } from '../envelope.ts'
import type { Operation } from '../operation.ts'

const Changelog = z
  .array(
    z.object({
      version: z.string().meta({ example: '1.0.0' }),
      changes: z.array(z.string().meta({ example: 'Calldata builders and the broadcast relay.' })),
    }),
  )
  .meta({ id: 'Changelog' })

/** The releases of a changelog, newest first: its second-level headings and the list under each, a line an item. */
export const parseChangelog = (markdown: string): z.output<typeof Changelog> =>
  markdown
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [version = '', ...items] = section.split('\n- ')
      return { version: version.trim(), changes: items.map((item) => item.trim().replace(/\s+/g, ' ')) }
    })

/** `/changelog`: where a removal is announced, at least six months ahead. */
export const changelogRoutes: FastifyPluginAsync = async (app) => {
  const data = parseChangelog(await readFile(packaged('CHANGELOG.md'), 'utf8'))
  const schema = { response: { 200: envelope(Changelog), ...errorResponses } }
  const operation: Operation = {
    tag: 'Service',
    summary: 'Changes of the API',
    description: 'By release, newest first. What will be removed is announced here at least six months ahead.',
  }
  app.get('/changelog', { schema, config: { operation } }, async () => ({ data }))
}
