import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import type { Random } from '../../../src/sandbox/random.ts'
import { ask as askOne, type Question, type Reply } from './ask.ts'
import { claimOf, type createChainCheck } from './chain-check.ts'
import { differences, isExplained, type View, viewOf } from './compare.ts'
import { around, note, type Report } from './report.ts'
import { createTags } from './tags.ts'
import { respell } from './urls.ts'

/** Pauses before a difference is looked at again: one that stays is not explained. */
const PAUSES_MS = [20, 50, 100, 200, 400, 800, 1_200, 1_600]

/** Requests before a comparison that may fill the cache, and have it compress what it keeps. */
const MOST_WARMING = 3

/** Of so many comparisons one also holds a record against the chain. */
const CHAIN_EVERY = 20

const encodings = ['identity', 'gzip', 'br'] as const
const methods = ['GET', 'GET', 'GET', 'HEAD'] as const

/** Whether the cache answered: what the framework answers also says how long it waited for a source. */
const isKept = ({ status, headers }: Reply): boolean =>
  status === 200 && !/db|rpc/.test(headers['server-timing'] ?? 'db')

type Place = { readonly name: string; readonly url: string }

/** Compares a caching API with one that does not cache, request by request. */
export const createChecker = (deps: {
  readonly cached: Place
  readonly uncached: Place
  readonly checkChain: ReturnType<typeof createChainCheck>
  readonly random: Random
  readonly report: Report
}) => {
  const { cached, uncached, checkChain, random, report } = deps
  const agent = new Agent({ connections: 16 })
  const tags = createTags()

  const ask = async ({ name, url }: Place, path: string, question: Question): Promise<Reply> => {
    const reply = await askOne(agent, `${url}${path}`, question)
    report.requests += 1
    if (reply.status === 304) report.answers[304] += 1
    if (question.method === 'HEAD') report.answers.HEAD += 1
    const encoding = reply.headers['content-encoding']
    if (encoding === 'gzip' || encoding === 'br') report.answers[encoding] += 1
    for (const fault of reply.faults) note(report.unexplained, `${name} ${question.method} ${path}: ${fault}`)
    return reply
  }

  /** What a tag was given with, of answers with a body. */
  const remember = (path: string, { method }: Question, { status, etag, content }: View): void => {
    if (method === 'GET' && status === 200 && etag !== undefined) tags.add(path, etag, content)
  }

  /** Both answers to one request, until they agree. */
  const compare = async (path: string): Promise<Reply | null> => {
    const question: Question = { method: random.pick(methods), encoding: random.pick(encodings) }
    for (let left = random.int(0, MOST_WARMING); left > 0; left -= 1)
      await ask(cached, respell(path, random), { ...question, method: 'GET' })
    const began = performance.now()
    let first: 'place' | 'silent' | null = null
    let last: readonly string[] = []
    for (const pause of [...PAUSES_MS, 0]) {
      const [one, other] = await Promise.all([
        ask(cached, respell(path, random), question),
        ask(uncached, path, question),
      ])
      const [a, b] = [viewOf(one), viewOf(other)]
      if (isKept(one)) report.answers.kept += 1
      remember(path, question, a)
      remember(path, question, b)
      const differing = differences(a, b, question.method === 'HEAD')
      if (differing.length === 0) {
        report.comparisons += 1
        if (first === null) return other
        report.explained[first] += 1
        report.explained.longestMs = Math.max(report.explained.longestMs, performance.now() - began)
        return other
      }
      const names = differing as (keyof View)[]
      const shown = names.flatMap((name) => around(String(a[name]), String(b[name])))
      last = [`${question.method} ${path}: ${names.join()}`, ...shown, `${a.etag} ${a.block}`, `${b.etag} ${b.block}`]
      if (first === null) {
        first = isExplained(a, b) ? 'place' : 'silent'
        if (first === 'silent') note(report.silent, ...last)
      }
      await sleep(pause)
    }
    report.comparisons += 1
    note(report.unexplained, ...last)
    return null
  }

  /** A 304 is right when what the other API answers now is what the tag was given with. */
  const checkTag = async (path: string): Promise<void> => {
    const known = tags.of(path)
    if (known.length === 0) return
    const place = random.pick([cached, uncached])
    // The newest most of the time; an old one has to be refused unless nothing changed.
    const asked = random.int(1, 4) === 1 ? known.slice(-random.int(1, 4)) : known.slice(-1)
    const ifNoneMatch = asked.join(', ')
    report.conditional.asked += 1
    let last: readonly string[] = []
    for (const pause of [...PAUSES_MS, 0]) {
      const question = { method: random.pick(methods), encoding: random.pick(encodings), ifNoneMatch } as const
      const held = await ask(place, respell(path, random), question)
      const { etag } = held.headers
      if (held.status !== 304 || etag === undefined) {
        if (last.length > 0) report.conditional.moved += 1
        if (held.status === 200) remember(path, question, viewOf(held))
        return
      }
      const other = place === cached ? uncached : cached
      const now = viewOf(await ask(uncached, path, { method: 'GET', encoding: 'identity' }))
      const also = viewOf(await ask(other, path, { method: 'GET', encoding: 'identity' }))
      if (last.length === 0) report.conditional.held += 1
      if ([now, also].every(({ content }) => tags.has(path, etag, content))) {
        report.conditional.verified += 1
        return
      }
      const given = tags.contents(path, etag)
      last = [
        `304 of ${place.name} for ${etag} of ${path}, and then ${now.etag} ${now.block} and ${also.etag} ${also.block}`,
        ...given.flatMap((content) => around(content, now.content)),
      ]
      await sleep(pause)
    }
    note(report.unexplained, ...last)
  }

  const checkRecord = async (path: string): Promise<void> => {
    for (const pause of [100, 400, 0]) {
      const { status, headers, body } = await ask(random.pick([cached, uncached]), path, {
        method: 'GET',
        encoding: 'identity',
      })
      const claim = status === 200 ? claimOf(path, headers, body, random.pick) : null
      if (claim === null) return
      const wrong = await checkChain(claim)
      if (wrong?.length === 0) {
        report.chain.checked += 1
        return
      }
      if (wrong === null) report.chain.gone += 1
      else if (pause === 0) note(report.unexplained, ...wrong)
      else note(report.silent, ...wrong)
      await sleep(pause)
    }
  }

  let turn = 0
  return {
    /** One comparison, one conditional request, and now and then a record against the chain; a page after this one, where there is one. */
    async check(path: string): Promise<string | null> {
      turn += 1
      if (turn % CHAIN_EVERY === 0) await checkRecord(path)
      const reply = await compare(path)
      await checkTag(path)
      const { link } = reply?.headers ?? {}
      return link === undefined ? null : (/^<([^>]*)>/.exec(link)?.[1] ?? null)
    },
    ambiguous: tags.ambiguous,
    close: () => agent.close(),
  }
}
