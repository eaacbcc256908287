import { expect, test } from 'vitest'
import { escapeMarkup } from '../../src/lib/http/markup.ts'

test.each([
  [`<a href="x" title='y'>&amp;</a>`, '&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;amp;&lt;/a&gt;'],
  ['a\tb\nc\rd 漢 😀', 'a\tb\nc\rd 漢 😀'],
  ['a\0b\u001bc\ufffed\ud800e', 'a\ufffdb\ufffdc\ufffdd\ufffde'],
])('%j is escaped for HTML and XML', (text, escaped) => {
  expect(escapeMarkup(text)).toBe(escaped)
})
