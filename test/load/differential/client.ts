import { Agent } from 'undici'
import { ask, type Question, type Reply } from './ask.ts'
import { type View, viewOf } from './compare.ts'
import { note, type Report } from './report.ts'
import { createTags } from './tags.ts'

/** Pauses before a difference is checked again, in milliseconds. A difference that remains is a failure. */
export const PAUSES_MS = [20, 50, 100, 200, 400, 800, 1_200, 1_600, 0]

export const encodings = ['identity', 'gzip', 'br'] as const
export const methods = ['GET', 'GET', 'GET', 'HEAD'] as const
export const plain = { method: 'GET', encoding: 'identity' } as const

/** An API of the comparison. */
export type Place = { readonly name: string; readonly url: string }
export type Places = { readonly cached: Place; readonly uncached: Place }

/** Sends requests to both APIs, counts the answers, and remembers the content of every tag. */
export const createClient = (report: Report) => {
  const agent = new Agent({ connections: 16 })
  const tags = createTags()
  const count = ({ method }: Question, { status, headers }: Reply): void => {
    report.requests += 1
    if (status === 304) report.answers[304] += 1
    if (method === 'HEAD') report.answers.HEAD += 1
    const encoding = headers['content-encoding']
    if (encoding === 'gzip' || encoding === 'br') report.answers[encoding] += 1
  }
  return {
    tags,
    async ask({ name, url }: Place, path: string, question: Question): Promise<Reply> {
      const reply = await ask(agent, `${url}${path}`, question)
      count(question, reply)
      for (const fault of reply.faults) note(report.unexplained, `${name} ${question.method} ${path}: ${fault}`)
      return reply
    },
    /** The comparable view of a reply. Its tag is remembered under the canonical URL. */
    view(path: string, { method }: Question, reply: Reply): View {
      const view = viewOf(reply)
      if (method === 'GET' && view.status === 200 && view.etag !== undefined) tags.add(path, view.etag, view.content)
      return view
    },
    close: () => agent.close(),
  }
}

export type Client = ReturnType<typeof createClient>
