import hljs from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import http from 'highlight.js/lib/languages/http'
import json from 'highlight.js/lib/languages/json'
import typescript from 'highlight.js/lib/languages/typescript'
import { escapeMarkup } from '../../lib/http/markup.ts'

hljs.registerLanguage('sh', bash)
hljs.registerLanguage('http', http)
hljs.registerLanguage('json', json)
hljs.registerLanguage('ts', typescript)
hljs.registerAliases(['js'], { languageName: 'ts' })
hljs.registerAliases(['console'], { languageName: 'sh' })

/** More characters are shown without colours, because colouring takes time and three times as many bytes. */
const MAX_COLOURED = 20_000

/** Code as HTML whose parts have classes; only escaped in a language that has no colours here. */
export const highlight = (code: string, language: string): string =>
  hljs.getLanguage(language) === undefined || code.length > MAX_COLOURED
    ? escapeMarkup(code)
    : hljs.highlight(code, { language }).value
