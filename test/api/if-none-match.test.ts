import { describe, expect, test } from 'vitest'
import { isTag } from '../../src/api/if-none-match.ts'
import { createTags } from '../../src/api/response-cache/tags.ts'

const { encode, decode } = createTags('0.2.0-br.ab49855554d6')
const tags = [
  { version: 1_795_474_608_277_505, block: null },
  { version: 7, block: { number: 31_415_926, hashPrefix: '0123456789abcdef' } },
]

describe.each(tags)('the tag of version $version', (tag) => {
  const text = encode(tag).slice(3, -1)

  test.each([
    `W/"${text}"`,
    `"${text}"`,
    `w/"${text}"`,
    `"${text}-gzip"`,
    `W/"${text}-gzip"`,
    `"${text}--gzip"`,
    `"${text};gzip"`,
    `"${text}:br"`,
    `"${text}-br"`,
    `"${text}.zstd"`,
    `"${text}_deflate"`,
    `"${text}+gzip"`,
    `"${text}-GZIP"`,
    `"${text}-gzip-br"`,
    `"${text}"-gzip`,
    ` "a", W/"b-gzip",\t"${text}-gzip" , "c"`,
  ])('matches as a proxy returns it: %s', (header) => {
    expect(decode(header)).toEqual([tag])
  })

  test.each([
    '*',
    '',
    text,
    `"${text}`,
    `"${text}-"`,
    `"${text}-x"`,
    `"${text}gzip"`,
    `"gzip-${text}"`,
    `"${text}0"`,
    `"0${text}"`,
    `"${text}-gzip`,
    `""${text}""`,
    `"${text.toUpperCase()}"`,
  ])('does not match something else: %s', (header) => {
    expect(decode(header)).not.toContainEqual(tag)
  })
})

test('a separator at the end of a tag is part of it', () => {
  for (const own of ['abc-', 'abc_', 'abc-br']) {
    for (const given of [own, `${own}-gzip`, `${own}--gzip`, `${own};br`])
      expect([given, isTag(given, own)]).toEqual([given, true])
    expect(isTag(own.slice(0, -1), own)).toBe(false)
  }
})
