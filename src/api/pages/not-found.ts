import { escapeMarkup } from '../../lib/http/markup.ts'
import { pageOf, type Shell } from './html.ts'

/** The page for a browser that asks for a page that does not exist. `hint` is a sentence for the reader. */
export const notFoundPage = (shell: Shell, hint: string): string => {
  const { root, explorer } = shell
  const links = [
    ['', 'Start'],
    ...(explorer ? [['explorer/', 'Explorer']] : []),
    ['v1/docs/guide/quick-start', 'Guide'],
    ['v1/docs', 'Reference of all operations'],
  ]
  const body = `<h1>No such page</h1>
<p class="lead">${escapeMarkup(hint)}</p>
<ul>${links.map(([url, title]) => `<li><a href="${root}${url}">${title}</a></li>`).join('')}</ul>`
  return pageOf(shell, { title: 'No such page', body })
}
