import { readFile } from 'node:fs/promises'
import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { packaged } from '../../../lib/root.ts'
import { prefersHtml } from '../../accept.ts'
import { type Asset, createAsset, sendAsset } from '../../asset.ts'
import { envelope, type Operation, route } from '../../operation.ts'
import { shellOf } from '../../pages/assets/assets.ts'
import { PAGE_POLICY, pageOf } from '../../pages/html.ts'
import { render } from '../../pages/markdown.ts'

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

/** A link with its text and its target. */
const LINK = /\[([^[\]]+)\]\(([^()]+)\)/g

/** Keeps only the text of links to files of the repository, which the service does not serve. */
const withoutFileLinks = (markdown: string): string =>
  markdown.replace(LINK, (link, text: string, target: string) => (target.startsWith('https:') ? link : text))

type Options = {
  /** Whether the explorer is served. */
  readonly explorer?: boolean
}

/** `/changelog`: it announces removals at least six months ahead. For browsers it is a page. */
export const changelogRoutes: FastifyPluginAsync<Options> = async (app, { explorer = true }) => {
  const markdown = await readFile(packaged('CHANGELOG.md'), 'utf8')
  const data = parseChangelog(markdown)
  const page: () => Promise<Asset> = createAsset('text/html; charset=utf-8', async () => {
    const { html } = await render(withoutFileLinks(markdown))
    const twin = { type: 'application/json', url: 'changelog' }
    return Buffer.from(pageOf(await shellOf('../', explorer), { title: 'Changelog', body: html, twin }))
  })
  const operation: Operation = {
    tag: 'Service',
    summary: 'Retrieve the changelog',
    description:
      'Returns the changes of the API by release, newest first. Removals are announced here at least six months ahead.',
  }
  app.get('/changelog', route(operation, envelope(Changelog)), async (request, reply) => {
    if (!prefersHtml(request.headers.accept)) return { data }
    reply.header('content-security-policy', PAGE_POLICY)
    return sendAsset(request, reply, await page(), { vary: 'accept, accept-encoding' })
  })
}
