import { readFile } from 'node:fs/promises'
import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { packaged } from '../../lib/root.ts'
import { envelope, type Operation, route } from '../operation.ts'

const Changelog = z
  .array(
    z.object({
      version: z.string(),
      date: z.iso.date().nullable().meta({ description: 'When it was released; null before' }),
      changes: z.array(z.string()),
    }),
  )
  .meta({ id: 'Changelog' })

/**
 * Parses the releases of a changelog, newest first: the second-level headings and the list items under each. Further
 * headings and the rules of tables are left out.
 *
 * @internal
 */
export const parseChangelog = (markdown: string): z.output<typeof Changelog> =>
  markdown
    .replace(/^(?:###.*| *\|[ |-]*)\n/gm, '')
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [heading = '', ...items] = section.split('\n- ')
      const [version = '', date = null] = heading.trim().split(/ \(|\)/)
      return { version, date, changes: items.map((item) => item.trim().replace(/\s+/g, ' ')) }
    })

/** `/changelog`: it announces removals at least six months ahead. */
export const changelogRoutes: FastifyPluginAsync = async (app) => {
  const data = parseChangelog(await readFile(packaged('CHANGELOG.md'), 'utf8'))
  const operation: Operation = {
    tag: 'Service',
    summary: 'Retrieve the changelog',
    description:
      'Returns the changes of the API by release, newest first. Removals are announced here at least six months ahead.',
  }
  app.get('/changelog', route(operation, envelope(Changelog)), async () => ({ data }))
}
