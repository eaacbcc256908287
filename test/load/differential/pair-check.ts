import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../../src/sandbox/story/random.ts'
import type { Question, Reply } from './ask.ts'
import { type Client, encodings, methods, PAUSES_MS, type Places } from './client.ts'
import { differences, isExplained } from './compare.ts'
import { around, note, type Report } from './report.ts'
import { respell } from './urls.ts'

/** The number of requests before a comparison, which may fill the cache and make it compress its entries. */
const MOST_WARMING = 3

/** Whether the cache answered: only other answers report how long they waited for a source. */
const isKept = ({ status, headers }: Reply): boolean =>
  status === 200 && !/db|rpc/.test(headers['server-timing'] ?? 'db')

type Deps = Places & { readonly client: Client; readonly random: Random; readonly report: Report }

/** Sends both APIs the same request until they agree. Returns the answer, or null if they never agree. */
export const createPairCheck = ({ cached, uncached, client, random, report }: Deps) => {
  const warm = async (path: string, question: Question): Promise<void> => {
    for (let left = random.int(0, MOST_WARMING); left > 0; left -= 1)
      await client.ask(cached, respell(path, random), { ...question, method: 'GET' })
  }

  return async (path: string): Promise<Reply | null> => {
    const question: Question = { method: random.pick(methods), encoding: random.pick(encodings) }
    await warm(path, question)
    report.comparisons += 1
    const began = performance.now()
    let first: 'place' | 'silent' | null = null
    let last: readonly string[] = []
    for (const pause of PAUSES_MS) {
      const [one, other] = await Promise.all([
        client.ask(cached, respell(path, random), question),
        client.ask(uncached, path, question),
      ])
      const [a, b] = [client.view(path, question, one), client.view(path, question, other)]
      if (isKept(one)) report.answers.kept += 1
      const differing = differences(a, b, question.method === 'HEAD')
      if (differing.length === 0) {
        if (first === null) return other
        report.explained[first] += 1
        report.explained.longestMs = Math.max(report.explained.longestMs, performance.now() - began)
        return other
      }
      const shown = differing.flatMap((name) => around(String(a[name]), String(b[name])))
      last = [
        `${question.method} ${path}: ${differing.join()}`,
        ...shown,
        ...[a, b].map((it) => `${it.etag} ${it.block}`),
      ]
      if (first === null && !isExplained(a, b)) note(report.silent, ...last)
      first ??= isExplained(a, b) ? 'place' : 'silent'
      await sleep(pause)
    }
    note(report.unexplained, ...last)
    return null
  }
}
