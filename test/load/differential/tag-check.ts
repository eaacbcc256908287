import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../../src/sandbox/story/random.ts'
import { type Client, encodings, methods, PAUSES_MS, type Places, plain } from './client.ts'
import { around, note, type Report } from './report.ts'
import { respell } from './urls.ts'

type Deps = Places & { readonly client: Client; readonly random: Random; readonly report: Report }

/** Sends tags of both APIs: a 304 is correct when both now return the content that the tag was issued for. */
export const createTagCheck = ({ cached, uncached, client, random, report }: Deps) => {
  /** Mostly the newest tag. An older one must not match unless nothing changed. */
  const tagsFor = (path: string): readonly string[] =>
    client.tags.of(path).slice(random.int(1, 4) === 1 ? -random.int(1, 4) : -1)

  return async (path: string): Promise<void> => {
    const asked = tagsFor(path)
    if (asked.length === 0) return
    const place = random.pick([cached, uncached])
    // Read first, because the answers below add to it.
    const given = new Map(asked.map((etag) => [etag, client.tags.contents(path, etag)]))
    const ifNoneMatch = asked.join(', ')
    report.conditional.asked += 1
    let last: readonly string[] = []
    for (const pause of PAUSES_MS) {
      const question = { method: random.pick(methods), encoding: random.pick(encodings), ifNoneMatch } as const
      const held = await client.ask(place, respell(path, random), question)
      const { etag } = held.headers
      if (held.status !== 304 || etag === undefined) {
        if (last.length > 0) report.conditional.moved += 1
        client.view(path, question, held)
        return
      }
      const contents = given.get(etag) ?? []
      const now = await Promise.all(
        [uncached, cached].map(async (it) => client.view(path, plain, await client.ask(it, path, plain))),
      )
      if (last.length === 0) report.conditional.held += 1
      if (now.every(({ content }) => contents.includes(content))) {
        report.conditional.verified += 1
        return
      }
      last = [
        `304 of ${place.name} for ${etag} of ${path}, and then ${now.map((it) => `${it.etag} ${it.block}`).join(' and ')}`,
        ...contents.flatMap((content) => now.flatMap((it) => around(content, it.content))),
      ]
      await sleep(pause)
    }
    note(report.unexplained, ...last)
  }
}
