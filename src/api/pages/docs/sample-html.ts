import { codeHtml, highlighted } from '../markdown.ts'
import type { Operation } from './operation.ts'
import { BASE_URL, samplesOf } from './samples.ts'

/** The samples as code in tabs, which need no script. */
export const samplesHtml = async (operation: Operation): Promise<string> => {
  const { curl, typescript } = samplesOf(operation)
  const code = async (text: string, language: string): Promise<string> =>
    codeHtml((await highlighted(text, language)).replaceAll(BASE_URL, `<span data-base>${BASE_URL}</span>`), language)
  const tabs = [
    ['curl', await code(curl, 'sh')],
    ...(typescript === undefined ? [] : [['TypeScript', await code(typescript, 'ts')]]),
  ] as const
  const buttons = tabs.map(
    ([name], at) =>
      `<input type="radio" name="sample" id="sample-${at}"${at === 0 ? ' checked' : ''}><label for="sample-${at}">${name}</label>`,
  )
  return `<div class="tabs" role="group" aria-label="Language of the sample">${buttons.join('')}\n${tabs.map(([, html]) => html).join('')}</div>\n`
}
