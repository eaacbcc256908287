import type { Block } from '../../chain/rpc/requests.ts'
import type { Reading } from '../../chain/tokens.ts'
import { revertByCode } from '../../protocol/reverts/catalogue.ts'
import { wordText } from '../../protocol/sentence.ts'
import type { Token } from '../../protocol/tokens.ts'
import { type Simulation, simulationRecord } from '../../tx/simulation.ts'
import type { Price } from '../draft/price.ts'
import type { Account } from '../rehearsal/gas.ts'
import { type Issue, issue, notAToken, stepIssue } from '../steps/issue.ts'
import type { Rehearsal, StepResult } from '../steps/rehearse.ts'
import type { Step } from '../steps/step.ts'

/* Why a plan reverts, and what else a wallet should know before it signs. */

/** What a step did in the simulation on a block. */
export const simulationOf = (
  { transaction }: Step,
  result: StepResult | undefined,
  { number: blockNumber }: Pick<Block, 'number'>,
): Simulation => {
  const name = transaction.function
  if (result === undefined) return simulationRecord({ status: 'unavailable' }, name)
  if (result.ok) return simulationRecord({ status: 'success', blockNumber }, name)
  const error = { data: result.data, message: 'execution reverted' }
  return simulationRecord({ status: 'reverted', error, blockNumber }, name)
}

/** The issue of a step that reverts. */
export const revertIssue = (step: string, { code, reason, hint }: Simulation): Issue[] =>
  code === null ? [] : [stepIssue(step, code, reason ?? code, hint ?? '')]

/** The issues of the wallet's balance and allowance. */
export const moneyIssues = (
  price: Price | null,
  maxCost: bigint | null,
  token: Token | null,
  steps: readonly Step[],
): Issue[] => {
  if (price === null || maxCost === null) return []
  const { total, balance, allowance } = price
  const lack = (code: string, what: string, has: bigint, need: bigint, hint: string, more: Partial<Issue>): Issue => {
    const unit = token?.symbol == null ? 'the token' : wordText(token.symbol)
    const message = `the wallet has ${what} of ${has} and needs ${need} units of ${unit}`
    return issue(code, message, hint, { have: has.toString(), need: need.toString(), ...more })
  }
  const approve = steps.find(({ id }) => id === 'approve')
  const { hint } = revertByCode('insufficient_balance')
  const approved = 'The plan has the approval as a step.'
  return [
    ...(balance !== null && balance < total
      ? [lack('insufficient_balance', 'a balance', balance, total, hint, { blocking: true })]
      : []),
    ...(approve !== undefined && allowance !== null
      ? [lack('insufficient_allowance', 'an allowance', allowance, maxCost, approved, { step: approve.id })]
      : []),
  ]
}

/** The issues of the account itself. */
export const accountIssues = ({ coins, isContract }: Account, cost: bigint | null, symbol: string): Issue[] => {
  const issues: Issue[] = []
  if (isContract) {
    const hint = 'Send the calls through the contract, for example with `wallet_sendCalls`.'
    issues.push(issue('contract_account', 'the wallet is a contract', hint))
  }
  if (coins !== null && cost !== null && coins < cost) {
    const message = `the wallet has ${coins} wei and the steps may cost ${cost} wei`
    const hint = `Send ${symbol} to the wallet, or let someone else pay for the gas.`
    issues.push(issue('insufficient_gas_funds', message, hint, { have: coins.toString(), need: cost.toString() }))
  }
  return issues
}

/** The issues of steps that approve what did not answer as a token in the simulation. */
export const tokenIssues = (steps: readonly Step[], rehearsal: Rehearsal): Issue[] =>
  steps.flatMap(({ id, action, transaction: { to } }) =>
    action !== null || rehearsal === null || rehearsal.answering.has(to) ? [] : [notAToken(id, to)],
  )

const shown = ({ symbol, decimals }: Token): string =>
  `${decimals ?? 'no'} decimals and ${symbol === null ? 'no symbol' : `the symbol ${JSON.stringify(symbol)}`}`

/** The issues of tokens that have other decimals than the configuration, or were changed a short time ago. */
export const changedTokenIssues = (
  readings: readonly { readonly token: Token; readonly reading: Reading | undefined }[],
): Issue[] =>
  readings.flatMap(({ token, reading }) => {
    const contradicted = reading?.contradicts
    if (contradicted == null) return []
    const source = contradicted.by === 'configuration' ? 'in the configuration of the service' : 'before'
    const message = `the token ${token.token} has ${shown(token)}, and had ${shown(contradicted.token)} ${source}`
    const hint = 'Check the amounts of the plan: other responses, and texts made before, may use the other decimals.'
    return [issue('token_changed', message, hint)]
  })

/** The issue of a wallet that can claim nothing. */
export const claimIssues = (steps: readonly Step[]): Issue[] => {
  const message = 'the wallet has nothing to claim on this chain'
  return steps.length > 0
    ? []
    : [issue('nothing_to_claim', message, 'Try again after a settlement.', { blocking: true })]
}
