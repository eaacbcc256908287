import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * The interval between readiness probes of a member, and the pause of a client after an answer, which leaves processor
 * time for the members. In milliseconds.
 */
const PACE = { probeEveryMs: 50, pauseMs: 20 }

export type Question = { readonly method: 'GET' | 'POST'; readonly path: string; readonly body?: string }

/** The outcome of a request: the last status, 0 without an answer, and the members that it was sent to, in order. */
export type Outcome = Question & { readonly status: number; readonly tried: readonly string[]; readonly text: string }

type Member = { readonly name: string; readonly url: string; readonly agent: Agent; isReady: boolean }

/**
 * A refused connection carried nothing. A broken one may have carried the request, so only requests without effects are
 * retried.
 */
const mayRetry = (fault: unknown, method: string): boolean => {
  const code = fault instanceof Error && 'code' in fault ? fault.code : undefined
  return code === 'ECONNREFUSED' || (code === 'ECONNRESET' && method === 'GET')
}

/**
 * A load balancer for several API processes. It keeps connections open, probes `/readyz` of each member and distributes
 * requests to the ready ones in turn. A member whose connection is refused or breaks gets no request until it is ready
 * again. The request is retried at the next member: a GET in both cases, any other method only after a refused
 * connection. A request that got an answer of any status is never retried.
 */
export const createBalancer = ({ probeEveryMs, pauseMs } = PACE) => {
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
    for (; !over.signal.aborted && members.get(member.name) === member; await sleep(probeEveryMs)) {
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

  /** Sends one request and records its outcome. Never throws. */
  const ask = async (question: Question): Promise<void> => {
    const tried: string[] = []
    for (;;) {
      try {
        const member = next()
        tried.push(member.name)
        try {
          const { status, text } = await send(member, question)
          return void outcomes.push({ ...question, status, tried, text: text.slice(0, 200) })
        } catch (fault) {
          member.isReady = false
          if (!mayRetry(fault, question.method)) throw fault
        }
      } catch (fault) {
        return void outcomes.push({ ...question, status: 0, tried, text: String(fault) })
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
    /** Sends requests in turn, a fixed number concurrently, until `stop`. */
    start(questions: readonly Question[], atOnce: number): void {
      let nth = 0
      const client = async (): Promise<void> => {
        for (; !over.signal.aborted; await sleep(pauseMs)) {
          const question = questions[nth++ % questions.length]
          if (question !== undefined) await ask(question)
        }
      }
      clients.push(...Array.from({ length: atOnce }, client))
    },
    /** The outcomes since the last call of this function. */
    take: (): Outcome[] => outcomes.splice(0),
    async stop(): Promise<void> {
      over.abort()
      await Promise.all(clients)
      for (const { agent } of members.values()) agent.destroy()
    },
  }
}
