import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Recorded } from '../../src/api/openapi/recorded.ts'
import { record } from '../examples/record.ts'
import { type Story, startStory } from '../examples/story.ts'

let story: Story
let recorded: Record<string, Recorded>
beforeAll(async () => {
  story = await startStory()
  recorded = await record(story)
})
afterAll(() => story?.close())

test('every recorded example equals the answer of the API to the same request', async () => {
  await expect(`${JSON.stringify(recorded, null, 2)}\n`).toMatchFileSnapshot('../../docs/examples.json')
})
