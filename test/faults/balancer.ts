import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

/** How often a member is asked whether it is ready, in milliseconds. */
const LOOK_EVERY_MS = 50

export type Question = { readonly method: 'GET' | 'POST'; readonly path: string; readonly body?: string }

/** What became of a question: the last answer's status, 0 where none came, and whom it was put to, the last of them last. */
export type Outcome = Question & { readonly status: number; readonly tried: readonly string[]; readonly said: string }

type Member = { readonly name: string; readonly url: string; readonly agent: Agent; isReady: boolean }

/** A connection that was refused carried nothing; one that broke may have carried the request, so only what changes nothing is sent again. */
const mayRetry = (fault: unknown, method: string): boolean => {
  const code = fault instanceof Error && 'code' in fault ? fault.code : undefined
  return code === 'ECONNREFUSED' || (code === 'ECONNRESET' && method === 'GET')
}

/**
 * What stands before several processes of the API: it keeps connections open, asks each member for `/readyz` and gives questions to those
 * that are ready, in turn. A member whose connection is refused or breaks is left until it is ready again, and the question put to the next
 * one: a GET in both cases, anything else only when it was refused. An answer, whatever its status, is never asked for twice.
 */
export const createBalancer = () => {
  const members = new Map<string, Member>()
  const outcomes: Outcome[] = []
  const clients: Promise<void>[] = []
  const over = new AbortController()
  let turn = 0

  const send = async ({ url, agent }: Member, { method, path, body }: Question) => {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' }
    const asked = request(`${url}${path}`, { method, agent, headers, timeout: 20_000 })
    asked.once('timeout', () => asked.destroy(new Error('no answer in 20 s')))
    asked.end(body)
    const [answer]: IncomingMessage[] = await once(asked, 'response')
    if (answer === undefined) throw new Error('no response')
    let text = ''
    for await (const chunk of answer.setEncoding('utf8')) text += chunk
    return { status: answer.statusCode ?? 0, text }
  }

  const watch = async (member: Member): Promise<void> => {
    for (; !over.signal.aborted && members.get(member.name) === member; await sleep(LOOK_EVERY_MS)) {
      const answer = await send(member, { method: 'GET', path: '/readyz' }).catch(() => null)
      member.isReady = answer?.status === 200
    }
    member.agent.destroy()
  }

  const next = (): Member => {
    const ready = [...members.values()].filter(({ isReady }) => isReady)
    turn += 1
    const member = ready[turn % ready.length]
    if (member === undefined) throw new Error('no member is ready')
    return member
  }

  /** Puts one question; never throws, and remembers what became of it. */
  const ask = async (question: Question): Promise<void> => {
    const tried: string[] = []
    for (;;) {
      try {
        const member = next()
        tried.push(member.name)
        try {
          const { status, text } = await send(member, question)
          return void outcomes.push({ ...question, status, tried, said: text.slice(0, 200) })
        } catch (fault) {
          member.isReady = false
          if (!mayRetry(fault, question.method)) throw fault
        }
      } catch (fault) {
        return void outcomes.push({ ...question, status: 0, tried, said: String(fault) })
      }
    }
  }

  return {
    add(name: string, url: string): void {
      const member: Member = { name, url, agent: new Agent({ keepAlive: true }), isReady: true }
      members.set(name, member)
      void watch(member)
    },
    remove: (name: string): boolean => members.delete(name),
    /** Puts questions in turn, so many at once, until `stop`. */
    start(questions: readonly Question[], atOnce: number): void {
      let nth = 0
      const client = async (): Promise<void> => {
        for (; !over.signal.aborted; await sleep(5)) {
          const question = questions[nth++ % questions.length]
          if (question !== undefined) await ask(question)
        }
      }
      clients.push(...Array.from({ length: atOnce }, client))
    },
    /** What became of the questions since the last call. */
    take: (): Outcome[] => outcomes.splice(0),
    async stop(): Promise<void> {
      over.abort()
      await Promise.all(clients)
      for (const { agent } of members.values()) agent.destroy()
    },
  }
}
