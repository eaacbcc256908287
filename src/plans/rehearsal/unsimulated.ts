import { type Address, type Hex, isAddressEqual } from 'viem'
import { erc20Abi } from '../../abi/erc20.generated.ts'
import { protocolAbi } from '../../abi/protocol.generated.ts'
import { isFailedCall } from '../../chain/rpc/errors.ts'
import { plainCall } from '../../chain/rpc/plain-call.ts'
import { type Request, viewCall } from '../../chain/rpc/requests.ts'
import type { Outcome } from '../../chain/rpc/transport.ts'
import { contractFunction } from '../../protocol/abi/contract-function.ts'
import { call } from '../../protocol/abi/outputs.ts'
import type { Deployment } from '../../protocol/chains.ts'
import { revertOf } from '../../protocol/reverts/decode.ts'
import { configuredTokens } from '../../protocol/tokens.ts'
import type { Draft } from '../draft/contents.ts'
import { catalogueIssue, type Issue, notAToken, stepIssue } from '../steps/issue.ts'
import { wordOf } from '../steps/rehearse.ts'
import type { Step } from '../steps/step.ts'
import { refusalOfQuote } from './signed-quote.ts'

/*
 * What can be known about a plan when no node simulates its steps one after the other. Every node runs one call of the
 * wallet on a block's own state, which shows all that a step depends on but the steps before it. The one such step is
 * the approval: the call after it then fails in its last part, the transfer, for nothing but the allowance.
 */

/** One thing to ask, and what the answers mean for a step. */
type Probe = {
  readonly requests: readonly Request<unknown>[]
  judge(outcomes: readonly (Outcome<unknown> | undefined)[]): Promise<readonly Issue[]> | readonly Issue[]
}

/** The code of a step that nothing has checked. */
export const UNCHECKED = 'not_simulated'

const unanswered = (step: string): Issue =>
  stepIssue(
    step,
    UNCHECKED,
    'no node simulates the step, and the call that would check it was not answered: it may revert',
    'Request the plan again, or set `force` to get its transactions without a check.',
  )

const createEvent = contractFunction(protocolAbi, 'createEvent')
const transfer = contractFunction(erc20Abi, 'transfer')
const balanceOf = contractFunction(erc20Abi, 'balanceOf')

type Terms = Parameters<typeof createEvent.encode>[0][0]

const termsIn = (data: Hex): Terms => (createEvent.decodeArguments(data) as readonly [Terms])[0]

/** Calldata without a signature, which is checked apart: at the time of the next block, and not of the last one. */
const withoutSignature = (data: Hex): Hex =>
  data.startsWith(createEvent.selector) ? createEvent.encode([{ ...termsIn(data), signature: '0x' }]) : data

type Context = { readonly draft: Draft; readonly deployment: Deployment }

const hasApproval = ({ steps }: Draft): boolean => steps.some(({ action }) => action === null)

/** The step alone. What an approval of the plan will allow is no reason against it. */
const callProbe = (step: Step, { draft, deployment }: Context): Probe => {
  const { id, action, transaction } = step
  const isToken = action === null
  const data = withoutSignature(transaction.data)
  return {
    requests: [plainCall({ from: draft.from, to: transaction.to, data }, draft.block.hash, { isToken })],
    judge([outcome]) {
      if (outcome?.ok === true) return []
      if (outcome === undefined || !isFailedCall(outcome.error)) return [unanswered(id)]
      const { code, reason, hint } = revertOf(outcome.error, transaction.function)
      if (code === 'insufficient_allowance' && action?.spends !== undefined && hasApproval(draft))
        return isConfigured(draft, deployment)
          ? []
          : [
              stepIssue(
                id,
                UNCHECKED,
                'no node simulates the step after its approval, and the token is none of the configured ones: it may refuse the transfer or take a fee',
                'Send the approval alone, with `/v1/tx/erc20/approve`, and request the plan again when it is mined.',
              ),
            ]
      if (isToken && (draft.price?.allowance ?? 0n) > 0n)
        return [
          stepIssue(
            id,
            code,
            reason,
            'Revoke the allowance first, with the plan `revoke-approval`, and request the plan again.',
          ),
        ]
      return [stepIssue(id, code, reason, hint)]
    },
  }
}

const isConfigured = ({ price }: Draft, deployment: Deployment): boolean =>
  price !== null && configuredTokens(deployment).some(({ token }) => isAddressEqual(token, price.token))

/** Whether an approved contract answers as a token. */
const tokenProbe = ({ id, transaction: { to } }: Step, { draft: { from, block } }: Context): Probe => ({
  requests: [plainCall({ from, to, data: balanceOf.encode([from]) }, block.hash, { isToken: true })],
  judge: ([outcome]) =>
    outcome?.ok === true && wordOf({ ok: true, data: outcome.value as Hex }) !== null ? [] : [notAToken(id, to)],
})

/** Whether the token lets the wallet send the amount to the protocol, which needs no allowance. */
const transferProbe = (id: string, token: Address, amount: bigint, context: Context): Probe => {
  const { from, block } = context.draft
  const data = transfer.encode([context.deployment.diamond, amount])
  return {
    requests: [plainCall({ from, to: token, data }, block.hash, { isToken: true })],
    judge([outcome]) {
      if (outcome?.ok === true) {
        const isRefused = outcome.value !== '0x' && wordOf({ ok: true, data: outcome.value as Hex }) !== 1n
        return isRefused ? [catalogueIssue(id, 'token_transfer_failed')] : []
      }
      if (outcome === undefined || !isFailedCall(outcome.error)) return [unanswered(id)]
      const { code, reason, hint } = revertOf(outcome.error, 'transferFrom')
      return [stepIssue(id, code, reason, hint)]
    },
  }
}

/** Whether a new event will still be open in the next block, and whether its signed quote is accepted there. */
const termsProbe = ({ id, transaction }: Step, { draft, deployment }: Context): Probe => {
  const terms = termsIn(transaction.data)
  const isSigned = terms.signature !== '0x'
  const { chainId, diamond, profile } = deployment
  const { from, time, block } = draft
  const at = { blockHash: block.hash }
  return {
    requests: isSigned
      ? [
          viewCall(diamond, call('getPricingEngineSigner'), at),
          viewCall(diamond, call('isQuoteNonceUsed', [terms.quoteNonce]), at),
        ]
      : [],
    async judge([signer, used]) {
      if (terms.expiryDate <= time) return [catalogueIssue(id, 'bad_expiry')]
      if (!isSigned) return []
      if (signer?.ok !== true || used?.ok !== true) return [unanswered(id)]
      const refusal = await refusalOfQuote({
        quote: { ...terms, chainId, diamond, creator: from, expiry: terms.expiryDate },
        signature: terms.signature,
        time,
        profile,
        signer: signer.value as Address,
        isNonceUsed: used.value === true,
      })
      return refusal === null ? [] : [catalogueIssue(id, refusal)]
    },
  }
}

const probesOf = (context: Context): readonly Probe[] => {
  const { steps, price } = context.draft
  return steps.flatMap((step) => [
    ...(step.action === null ? [tokenProbe(step, context)] : []),
    callProbe(step, context),
    ...(step.action?.creates === 'eventId' ? [termsProbe(step, context)] : []),
    ...(step.action?.spends !== undefined && hasApproval(context.draft) && price !== null
      ? [transferProbe(step.id, price.token, price.total, context)]
      : []),
  ])
}

/** The requests that check the steps of a draft without a simulation. */
export const plainRequests = (draft: Draft, deployment: Deployment): readonly Request<unknown>[] =>
  probesOf({ draft, deployment }).flatMap(({ requests }) => requests)

/** What the outcomes of `plainRequests` say against the steps. */
export const plainIssues = async (
  draft: Draft,
  deployment: Deployment,
  outcomes: readonly Outcome<unknown>[],
): Promise<readonly Issue[]> => {
  const left = [...outcomes]
  const judged = probesOf({ draft, deployment }).map(({ requests, judge }) => judge(left.splice(0, requests.length)))
  return (await Promise.all(judged)).flat()
}
