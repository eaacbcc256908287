import type { Address, Hex } from 'viem'
import { erc20Abi } from '../../abi/erc20.generated.ts'
import { protocolAbi } from '../../abi/protocol.generated.ts'
import { MAX_UINT256 } from '../../lib/fixed.ts'
import { functionsOf, ofItem, selectorOf } from '../../protocol/abi/contract-function.ts'
import { amountText, signBeforeText, type Unit, wordText } from '../../protocol/sentence.ts'
import type { Token } from '../../protocol/tokens.ts'
import { actions } from '../actions/table.ts'
import type { ActionDefinition } from '../draft/definition.ts'
import type { About, Arguments, CallAction } from '../steps/call-action.ts'

/** The sentence part of an approval; `called` is the token with its address. */
const approvalText = ([, value]: Arguments, unit: Unit, called: string): string => {
  if (value === 0n) return `take back the protocol's allowance of ${called}`
  if (value === MAX_UINT256)
    return `allow the protocol to take any amount of ${unit.symbol === null ? 'the token' : wordText(unit.symbol)}`
  return `allow the protocol to take ${amountText(value as bigint, unit)}`
}

/** The sentence part of each function of the protocol that an action calls. */
const sentences = new Map(
  Object.values<ActionDefinition | CallAction>(actions).flatMap((action) =>
    'sentence' in action ? [[action.function as string, action.sentence]] : [],
  ),
)

/** The functions of the protocol and of tokens by their selectors. */
const functions = new Map(
  functionsOf([...protocolAbi, ...erc20Abi])
    .map(ofItem)
    .map((called) => [called.selector, called]),
)

type Call = { readonly to: Address; readonly data: Hex }

/** What a plan knows of its calls that their calldata does not have. */
export type Known = Pick<About, 'event' | 'total'> & {
  /** The token of the amounts of the protocol's calls. */
  readonly main: Token | null
  /** The tokens that are called. */
  tokenAt(address: Address): Token | undefined
  /** The last second at which the calls are accepted, when the sentence has to name it. */
  readonly signBefore: bigint | null
}

const partOf = ({ to, data }: Call, { main, tokenAt, event, total }: Known): string => {
  const encoded = functions.get(selectorOf(data))
  if (encoded === undefined) throw new TypeError(`no function has the selector of ${data}`)
  const { name: functionName } = encoded.item
  const args = encoded.decodeArguments(data)
  const token = tokenAt(to)
  const unit = token ?? main ?? { symbol: null, decimals: null }
  if (functionName === 'approve')
    return approvalText(args, unit, token?.symbol == null ? to : `${wordText(token.symbol)} (${to})`)
  return sentences.get(functionName)?.(args, { unit, event, total }) ?? functionName
}

/** Most parts that a summary lists. */
const MAX_PARTS = 5

/** States what calls do: their arguments from the calldata, and the terms of the event that they are about. */
export const summaryOf = (calls: readonly Call[], known: Known): string => {
  if (calls.length === 0) return 'Nothing to do.'
  const parts = calls.slice(0, MAX_PARTS).map((call) => partOf(call, known))
  const rest = calls.length - parts.length
  const text = [...parts, ...(rest > 0 ? [`do ${rest} more calls`] : [])].join(', then ')
  const sentence = `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
  return known.signBefore === null ? sentence : `${sentence} ${signBeforeText(known.signBefore)}`
}
