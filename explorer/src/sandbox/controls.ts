import type { Done, Failure, SandboxState } from '../../../src/sandbox/controls/messages.ts'

/** The server that this script comes from. */
const origin = new URL(import.meta.url).origin

const post = async (path: string, body: unknown): Promise<unknown> => {
  const response = await fetch(`${origin}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).catch(() => {
    throw new Error('The sandbox does not answer: it may have stopped.')
  })
  const answer = (await response.json()) as unknown
  if (!response.ok) throw new Error((answer as Failure).error)
  return answer
}

/** Reads the state of a chain, the first by default, and of one of its events. Throws why it could not be read. */
export const readState = async (chainId?: number, eventId?: number): Promise<SandboxState> =>
  (await post('/controls/state', { chainId, eventId })) as SandboxState

/** Runs a control and resolves to what happened. Throws why it was refused. */
export const runControl = async (name: string, body: unknown): Promise<string> =>
  ((await post(`/controls/${name}`, body)) as Done).done

/** Sends a call of the wallet to the node of a chain; resolves to the JSON-RPC response. */
export const callNode = (chainId: number, method: string, params: unknown): Promise<unknown> =>
  post(`/rpc/${chainId}`, { method, params })
