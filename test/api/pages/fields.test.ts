import { expect, test } from 'vitest'
import type { Description } from '../../../src/api/openapi/document.ts'
import { fieldsHtml, parameterHtml } from '../../../src/api/pages/docs/field-html.ts'
import { fieldsOf, type Schema } from '../../../src/api/pages/docs/fields.ts'

/* Fields of requests and responses as HTML, in which the fields of a field can be opened. */

const documentOf = (schemas: object = {}): Description => ({ components: { schemas } }) as unknown as Description

const html = (schema: object, need: 'required' | 'optional' = 'required', schemas: object = {}): string =>
  fieldsHtml(fieldsOf(documentOf(schemas), schema), 'body', need)

/** The text of the only field of a schema. */
const textOf = (schema: Schema): string =>
  html({ properties: { it: schema }, required: ['it'] }, 'optional')
    .replace(/<[^>]+>/g, '')
    .replace(/\s+/g, ' ')
    .trim()

test('a field has its name with an anchor, its type, whether it is required, and its meaning', () => {
  const schema = {
    required: ['a'],
    properties: { a: { type: 'integer', description: 'The `a` & b' }, b: { type: 'string' } },
  }
  const [, a, b] = html(schema).split('<li ')
  expect(a).toBe(
    'id="body-a"><p class="field"><a href="#body-a"><code>a</code></a> <span class="type">integer</span> <span class="required">required</span></p>\n<p>The <code>a</code> &amp; b</p></li>\n',
  )
  expect(b).not.toContain('required')
  const response = html(schema, 'optional').split('<li ')
  expect(response[1]).not.toMatch(/required|optional/)
  expect(response[2]).toContain('<span class="optional">optional</span>')
})

test('a field has its own fields inside, which are open in the first level only', () => {
  const leaf = { type: 'object', properties: { end: { type: 'string' } } }
  const document = {
    properties: {
      data: {
        type: 'object',
        properties: { rows: { type: 'array', items: { $ref: '#/components/schemas/Row' } }, one: leaf },
      },
    },
  }
  const shown = html(document, 'optional', {
    Row: { properties: { id: { type: 'integer' }, name: { type: 'string' } } },
  })
  expect(shown).toMatch(
    /id="body-data">[\s\S]*<details open><summary>2 fields<\/summary><ul class="fields"><li id="body-data\.rows">/,
  )
  expect(shown).toMatch(
    /<details><summary>2 fields of each item<\/summary><ul class="fields"><li id="body-data\.rows\[\]\.id">/,
  )
  expect(shown).toMatch(/<details><summary>1 field<\/summary><ul class="fields"><li id="body-data\.one\.end">/)
  expect(shown.match(/<ul/g)).toHaveLength(shown.match(/<\/ul>/g)?.length ?? 0)
  expect(html({ type: 'string' })).toBe('')
})

test.each<[Schema, string]>([
  [{ type: 'integer', minimum: 1, maximum: 200 }, 'it integer 1 to 200'],
  [{ type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }, 'it integer at least 0'],
  [{ type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: 7 }, 'it integer at most 7'],
  [{ type: 'number', exclusiveMinimum: 0 }, 'it number above 0'],
  [{ type: 'string', minLength: 42, maxLength: 42 }, 'it string exactly 42 characters'],
  [{ type: 'string', maxLength: 78, pattern: '^\\d+$' }, 'it decimal string at most 78 characters'],
  [{ type: 'string', pattern: '^<a>$' }, 'it string matches ^&lt;a&gt;$'],
  [{ type: 'string', format: 'date', default: 'x' }, 'it string format date default &quot;x&quot;'],
  [{ type: 'array', minItems: 1, maxItems: 100 }, 'it array 1 to 100 items'],
  [{ type: ['string', 'null'], enum: ['a', '<b>', null] }, 'it string or null One of a &lt;b&gt; null'],
  [{ type: 'string', 'x-items': { type: 'string', enum: ['a', 'b'] } }, 'it string Some of, separated by commas: a b'],
  [{ anyOf: [{ type: 'integer' }, { type: 'null' }] }, 'it integer or null'],
])('the bounds and choices of %j are words', (schema, text) => {
  expect(textOf(schema)).toBe(text)
})

test('a parameter looks like a field, and its name is only text', () => {
  const parameter = { name: '<i>', required: true, description: 'What' }
  expect(parameterHtml(parameter, { type: 'boolean' })).toBe(
    '<li id="parameter-&lt;i&gt;"><p class="field"><a href="#parameter-&lt;i&gt;"><code>&lt;i&gt;</code></a> <span class="type">boolean</span> <span class="required">required</span></p>\n<p>What</p></li>',
  )
  expect(parameterHtml({ name: 'a', required: false }, {})).toBe(
    '<li id="parameter-a"><p class="field"><a href="#parameter-a"><code>a</code></a> <span class="type">object</span></p>\n</li>',
  )
})
