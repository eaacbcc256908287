import { numberToHex, pad } from 'viem'
import { type ScriptedCall, startNode } from './scripted-node.ts'

/** The newest block of a scripted node. */
export const HEAD = 1_000_000

/** The result of a call; undefined leaves the whole batch to the honest node. */
export type Script = (call: ScriptedCall) => unknown

/** An error in place of a result. */
export class Failure {
  readonly code: number
  readonly message: string
  readonly data: string | undefined
  constructor(code: number, message: string, data?: string) {
    this.code = code
    this.message = message
    this.data = data
  }
}

/** A node that answers by a script, closed when the test is over. */
export const startScript = async (script: Script) => {
  const node = await startNode({ height: HEAD })
  node.say((calls) => {
    const answers = calls.map((call) => {
      const result = script(call)
      if (result instanceof Failure) {
        return { jsonrpc: '2.0', id: call.id, error: { ...result } }
      }
      return { jsonrpc: '2.0', id: call.id, result }
    })
    // What the script does not answer is left to the honest node.
    return answers.some((answer) => 'result' in answer && answer.result === undefined)
      ? null
      : { body: JSON.stringify(answers) }
  })
  return node
}

/** The honest answers about blocks, for batches that also have scripted calls. */
export const blocks: Script = ({ method, params: [first] }) => {
  if (method === 'eth_chainId') return numberToHex(8453)
  if (method !== 'eth_getBlockByNumber') return null
  const number = typeof first === 'string' && first.startsWith('0x') ? Number(first) : HEAD
  const [id, timestamp] = [numberToHex(number), numberToHex(Math.floor(Date.now() / 1_000) - HEAD + number)]
  return { number: id, hash: pad(id), timestamp, transactions: [] }
}
