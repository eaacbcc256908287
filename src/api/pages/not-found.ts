import { escapeMarkup } from '../../lib/http/markup.ts'
import { pageOf, type Shell } from './html.ts'

/** The page for a browser that asks for a page that does not exist. `message` may have text of the request. */
export const notFoundPage = (shell: Shell, message: string): string => {
  const { root, explorer } = shell
  const links = [
    ['', 'Start'],
    ...(explorer ? [['explorer/', 'Explorer']] : []),
    ['v1/docs/guide/quick-start', 'Guide'],
    ['v1/docs', 'Reference of all operations'],
  ]
  const body = `<p class="trail">404</p>
<h1>This page does not exist</h1>
<p>${escapeMarkup(message)}</p>
<ul>${links.map(([url, title]) => `<li><a href="${root}${url}">${title}</a></li>`).join('')}</ul>`
  return pageOf(shell, { title: 'Not found', body })
}
