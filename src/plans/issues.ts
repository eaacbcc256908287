import type { Address } from 'viem'
import type { Block } from '../chain/rpc/requests.ts'
import type { Reading } from '../chain/tokens.ts'
import { revertByCode } from '../protocol/reverts/catalogue.ts'
import { wordText } from '../protocol/sentence.ts'
import type { Token } from '../protocol/tokens.ts'
import { type Simulation, simulationRecord } from '../tx/simulation.ts'
import type { Account } from './gas.ts'
import type { Price } from './price.ts'
import type { Issue } from './records.ts'
import type { Rehearsal, StepResult } from './rehearse.ts'
import type { Step } from './step.ts'

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
  code === null ? [] : [{ code, message: reason ?? code, hint: hint ?? '', blocking: true, step }]

/** The issues of the wallet's balance and allowance. */
export const moneyIssues = (
  price: Price | null,
  maxCost: bigint | null,
  token: Token | null,
  steps: readonly Step[],
): Issue[] => {
  if (price === null || maxCost === null) return []
  const issues: Issue[] = []
  const { total, balance, allowance } = price
  const state = (has: bigint, what: string, need: bigint): string =>
    `the wallet has ${what} of ${has} and needs ${need} units of ${token?.symbol == null ? 'the token' : wordText(token.symbol)}`
  if (balance !== null && balance < total)
    issues.push({
      code: 'insufficient_balance',
      message: state(balance, 'a balance', total),
      hint: revertByCode('insufficient_balance').hint,
      blocking: true,
      have: balance.toString(),
      need: total.toString(),
    })
  const approve = steps.find(({ id }) => id === 'approve')
  if (approve !== undefined && allowance !== null)
    issues.push({
      code: 'insufficient_allowance',
      message: state(allowance, 'an allowance', maxCost),
      hint: 'The plan has the approval as a step.',
      blocking: false,
      step: approve.id,
      have: allowance.toString(),
      need: maxCost.toString(),
    })
  return issues
}

/** The issues of the account itself. */
export const accountIssues = ({ coins, isContract }: Account, cost: bigint | null, symbol: string): Issue[] => [
  ...(isContract
    ? [
        {
          code: 'contract_account',
          message: 'the wallet is a contract',
          hint: 'Send the calls through the contract, for example with `wallet_sendCalls`.',
          blocking: false,
        },
      ]
    : []),
  ...(coins !== null && cost !== null && coins < cost
    ? [
        {
          code: 'insufficient_gas_funds',
          message: `the wallet has ${coins} wei and the steps may cost ${cost} wei`,
          hint: `Send ${symbol} to the wallet, or let someone else pay for the gas.`,
          blocking: false,
          have: coins.toString(),
          need: cost.toString(),
        },
      ]
    : []),
]

/** The issue of a step that approves what does not answer as a token: the call may succeed and mean nothing. */
export const notAToken = (step: string, token: Address): Issue => ({
  code: 'not_a_token',
  message: `no token answers at ${token}`,
  hint: 'Check the address of the token and `chainId`.',
  ...{ blocking: true, step },
})

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
    return [
      {
        code: 'token_changed',
        message: `the token ${token.token} has ${shown(token)}, and had ${shown(contradicted.token)} ${source}`,
        hint: 'Check the amounts of the plan: other responses, and texts made before, may use the other decimals.',
        blocking: false,
      },
    ]
  })

/** The issue of a wallet that can claim nothing. */
export const claimIssues = (steps: readonly Step[]): Issue[] =>
  steps.length > 0
    ? []
    : [
        {
          code: 'nothing_to_claim',
          message: 'the wallet has nothing to claim on this chain',
          hint: 'Try again after a settlement.',
          blocking: true,
        },
      ]
