import { afterAll, describe, expect, test } from 'vitest'
import { blocksOf, differences, openGuide, pagesWithCode, sendRequest, statedOutput } from '../../support/guide.ts'
import { byForm, seed } from '../../support/repetitions.ts'
import { sandbox } from './process.ts'

const guide = await openGuide(sandbox.url)
afterAll(() => guide.close())

const requests = pagesWithCode.flatMap((page) => {
  const blocks = blocksOf(page)
  return blocks.flatMap((block, at) => {
    if (block.kind !== 'http') return []
    const [next] = blocks.slice(at + 1)
    const body = next?.kind === 'json' ? next.text : undefined
    return [{ name: `${page}:${block.line}`, block, body }]
  })
})

/** Each page is a process. By default a run has a third of them, which its seed chooses; all of them are compiled. */
const run = pagesWithCode.filter((_, at) => byForm(at % 3 === seed % 3, true))

describe('the guide', () => {
  test.concurrent('the code of the guide compiles under the settings of the project', () => guide.check())

  test.concurrent.each(run)(
    'the code in %s, as the guide shows it, runs to its end and prints what it states',
    async (page) => {
      expect(await guide.run(page)).toEqual(statedOutput(page))
    },
  )

  test.concurrent.each(requests)(
    'the request at $name of the guide has the status and the response that it shows',
    async ({ block, body }) => {
      const response = await sendRequest(sandbox.url, block)
      const actual = await response.json()
      expect([response.status, actual]).toEqual([block.argument === '' ? 200 : Number(block.argument), actual])
      if (body !== undefined) expect(differences(JSON.parse(body), actual)).toEqual([])
    },
  )
})
