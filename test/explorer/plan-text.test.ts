import { readFile } from 'node:fs/promises'
import { ConnectionError, ExecutionError, type Plan } from 'fx-protection-client'
import { describe, expect, it } from 'vitest'
import { decode } from '../../client/src/codec.ts'
import { failureOf } from '../../explorer/src/act/failure.ts'
import { type EventRow, eventLabel, ownLabel } from '../../explorer/src/act/labels.ts'
import {
  approvalsOf,
  createdBy,
  createdText,
  guideOf,
  issuesOf,
  issueText,
  planText,
} from '../../explorer/src/act/plan-text.ts'
import { commandOf } from '../../explorer/src/api/command.ts'
import { weiText } from '../../explorer/src/text/amount.ts'

const { paths } = JSON.parse(await readFile('docs/openapi.json', 'utf8'))
const example = paths['/v1/plans/buy-protection'].post.responses[200].content['application/json'].example.data
const plan = decode(example) as Plan

/** The plan with another amount of its approval. */
const approving = (amount: string): Plan => {
  const [step] = plan.steps
  if (step === undefined) throw new TypeError('the example has no step')
  const { transaction } = step
  return {
    ...plan,
    steps: [
      {
        ...step,
        transaction: { ...transaction, function: 'approve', args: { amount }, to: plan.tokens[0]?.token ?? '0x' },
      },
    ],
  }
}

describe('the approvals of a plan', () => {
  it('have the token and the amount, and none for an allowance without a limit', () => {
    expect(approvalsOf(approving('26130000'))).toEqual([
      { token: plan.tokens[0]?.token, symbol: 'USDC', decimals: 6, amount: 26_130_000n },
    ])
    expect(approvalsOf(approving(`${2n ** 256n - 1n}`))).toMatchObject([{ amount: null }])
    expect(approvalsOf(approving('0'))).toMatchObject([{ amount: 0n }])
  })

  it('are not those of another call', () => {
    expect(approvalsOf({ ...plan, steps: plan.steps.filter(({ id }) => id !== 'approve') })).toEqual([])
  })
})

describe('the issues of a plan', () => {
  const issue = { code: 'insufficient_allowance', message: 'm', hint: 'h', blocking: false }

  it('leave out an allowance that the plan sets itself', () => {
    expect(issuesOf({ ...approving('1'), issues: [issue] })).toEqual([])
    expect(issuesOf({ ...plan, steps: [], issues: [issue] })).toEqual([issue])
    const blocking = { ...issue, blocking: true }
    expect(issuesOf({ ...approving('1'), issues: [blocking] })).toEqual([blocking])
  })

  it('lead to a part of the guide that exists', async () => {
    const guide = await readFile('docs/guide/errors.md', 'utf8')
    for (const code of ['insufficient_gas_funds', 'pool_closed']) {
      const [, part = ''] = guideOf(code).split('#')
      expect(guide.toLowerCase()).toContain(`\n## ${part}\n`)
    }
    expect(guideOf('insufficient_gas_funds')).not.toBe(guideOf('pool_closed'))
  })

  it('are known as those of plans exactly when the documentation lists them', async () => {
    const plans = await readFile('docs/plans.md', 'utf8')
    const listed = [...plans.matchAll(/^\| `([a-z_]+)`/gm)].map(([, code]) => code ?? '')
    expect(listed.length).toBeGreaterThan(5)
    expect(listed.filter((code) => !guideOf(code).endsWith('#issues'))).toEqual([])
  })
})

describe('a plan in words', () => {
  const event = {
    ...{ chainId: plan.chainId, underlying: 'USD/MXN', strike: 19_200_000n, payoutCap: 21_000_000n, strikeAbove: true },
    ...{
      initialRate: 18_600_000n,
      expiryDate: 1_804_082_700,
      symbol: 'USDC',
      decimals: 6,
      utilization: { availableCapacity: 502_688_000_021n },
    },
  }
  /** An event that is that of a plan by its id. */
  const eventOf = (id: number) => ({ ...event, id }) as unknown as EventRow

  /** The plan with one call. */
  const calling = (name: string, args: object, more: object = {}): Plan => {
    const [step] = plan.steps
    if (step === undefined) throw new TypeError('the example has no step')
    const transaction = { ...step.transaction, function: name, args } as never
    return { ...plan, steps: [{ ...step, transaction }], ...more }
  }
  const buying = (more: object = {}): Plan =>
    calling('buyProtection', { eventId: '9', notional: '9000000000000' }, more)

  it('has the terms and the amounts of a purchase as pages show them', () => {
    expect(planText(buying(), eventOf(9))).toBe(
      'Protects 9,000,000 USDC against USD/MXN above 19.2 on 3 Mar 2027. It pays at most 870,967.74 USDC.',
    )
  })

  it('has nothing of an event that is not its own', () => {
    expect(planText(buying(), eventOf(10))).toBeNull()
    expect(planText(buying(), undefined)).toBeNull()
  })

  it('has what an event offers, and what a pool becomes', () => {
    const terms = { underlying: 'USD/MXN', strike: '19200000', strikeAbove: true, expiry: '1804082700' }
    const made = calling('createEvent', { ...terms, premiumRate: '20553', initialLiquidity: '1000000000' })
    expect(planText(made, undefined)).toBe(
      'Offers protection against USD/MXN above 19.2 on 3 Mar 2027 for 2.0553 % of the notional, with 1,000 USDC of liquidity.',
    )
    const settings = calling('setPoolSettings', { eventId: '9', poolOpen: false, allowExternalLp: true })
    expect(planText(settings, eventOf(9))).toBe('The pool would be closed, and take deposits from anyone.')
    expect(planText(calling('claimPayout', { positionId: '66' }), undefined)).toBe('Claim the payout of position 66.')
  })

  it('is left out for approvals alone and for several calls', () => {
    expect(planText(approving('1'), undefined)).toBeNull()
    const [step] = buying().steps
    if (step === undefined) throw new TypeError('the plan has no step')
    expect(planText({ ...plan, steps: [step, step] }, eventOf(9))).toBeNull()
  })

  const issue = { code: 'exceeds_capacity', message: 'Exceeds capacity', hint: 'Send a `notional`.', blocking: true }

  it('has the most that a pool can protect instead of a name of the API', () => {
    expect(issueText(issue, buying(), eventOf(9))).toEqual({
      ...{ text: 'This pool can protect at most 502,688 USDC.', most: 502_688_000_021n },
    })
    expect(issueText(issue, buying(), eventOf(10))).toEqual({ text: 'Exceeds capacity.' })
    const full = { ...eventOf(9), utilization: { availableCapacity: 0n } } as unknown as EventRow
    expect(issueText(issue, buying(), full)).toEqual({ text: 'This pool can protect nothing more.' })
  })

  it('has what a wallet lacks in whole tokens and coins', () => {
    const lacks = { ...issue, have: 26_129_999n, need: 26_130_000n }
    const cost = { symbol: 'USDC', decimals: 6 }
    expect(issueText({ ...lacks, code: 'insufficient_balance' }, buying({ cost }), undefined).text).toBe(
      'The wallet has 26.129999 USDC, and needs 26.13 USDC.',
    )
    const gas = { ...lacks, code: 'insufficient_gas_funds', have: 0n, need: 485_200_000_000_000n }
    expect(issueText(gas, buying({ gasCost: { symbol: 'ETH' } }), undefined).text).toBe(
      'The wallet has 0 ETH, and needs up to 0.0004852 ETH for the gas.',
    )
  })

  it('has the message and the hint of another issue', () => {
    const other = { ...issue, code: 'nothing_to_claim', message: 'the wallet has nothing', hint: 'Try again later.' }
    expect(issueText(other, plan, undefined)).toEqual({ text: 'The wallet has nothing. Try again later.' })
  })
})

describe('what can be chosen', () => {
  it('is named by its pair and its name, and not by a number alone', () => {
    const terms = { underlying: 'USD/MXN', strike: 19_200_000n, payoutCap: 0n, strikeAbove: true }
    expect(eventLabel({ ...terms, id: 9, name: 'Peso remittances' })).toBe(
      'USD/MXN above 19.2, Peso remittances (event 9)',
    )
    const own = { id: 66, eventId: 9, symbol: 'USDC', decimals: 6, event: terms }
    expect(ownLabel({ ...own, notional: 1_000_000_000n } as never)).toBe('1,000 USDC, USD/MXN above 19.2 (position 66)')
    expect(ownLabel({ ...own, event: undefined, amount: 5_000_000n } as never)).toBe('5 USDC, event 9 (deposit 66)')
  })
})

describe('what a plan creates', () => {
  it('is named with its ids, 0 included', () => {
    expect(createdText({ predicted: true, eventId: 0, depositId: 41 })).toBe('event 0, deposit 41')
    expect(createdText({ predicted: true })).toBe('')
  })

  it('is linked, events first', () => {
    expect(createdBy({ eventIds: [14], positionIds: [], depositIds: [42, 43] })).toEqual([
      { kind: 'event', id: 14 },
      { kind: 'deposit', id: 42 },
      { kind: 'deposit', id: 43 },
    ])
  })
})

describe('the failure of an execution', () => {
  it('has the message and the hint of the client', () => {
    const error = new ExecutionError('wrong_chain', 'the plan is for chain 56', 'Switch the wallet to chain 56.')
    expect(failureOf(error, false)).toEqual({
      ...{ code: 'wrong_chain', message: 'the plan is for chain 56', hint: 'Switch the wallet to chain 56.' },
      maybeSent: false,
    })
  })

  it.each(['not_confirmed', 'aborted', 'nonce_used'])('may have sent something when its code is %s', (code) => {
    expect(failureOf(new ExecutionError(code, 'm', 'h'), false).maybeSent).toBe(true)
  })

  it('has sent nothing when the user rejects, and for an error before anything was sent', () => {
    expect(failureOf(new ExecutionError('user_rejected', 'm', 'h'), true).maybeSent).toBe(false)
    expect(failureOf(new ConnectionError('m', { code: 'network_error' }), false).maybeSent).toBe(false)
    expect(failureOf({ code: 4001 }, false)).toEqual({
      ...{ code: 'user_rejected', message: 'The request was declined in the wallet.', maybeSent: false },
      hint: 'Nothing was sent: you can try again.',
    })
  })

  it('may have sent something when an unknown error comes after something was sent', () => {
    expect(failureOf(new TypeError('broken'), true)).toMatchObject({ code: 'wallet_failed', maybeSent: true })
  })
})

describe('a request as a command', () => {
  it('has the body of a POST, in which a quote ends no argument', () => {
    expect(commandOf('https://api.example', '/v1/plans/deposit', {}, `{"name":"it's $(id)"}`)).toBe(
      `curl -s 'https://api.example/v1/plans/deposit' -H 'content-type: application/json' -d '{"name":"it'\\''s $(id)"}'`,
    )
  })

  it('has the parameters of a GET in its path and query', () => {
    const params = { chainId: 56, id: "a'b", include: 'stats,event', cursor: undefined }
    expect(commandOf('https://api.example', '/v1/hedge/events/{chainId}/{id}', params)).toBe(
      `curl -s 'https://api.example/v1/hedge/events/56/a%27b?include=stats,event'`,
    )
  })
})

describe('an amount of coins', () => {
  it.each([
    [585_276_008_193_864n, '0.0005852'],
    [12_345_678_901_234_567_890n, '12.3456'],
    [0n, '0'],
    [1n, '0.000000000000000001'],
  ])('of %s wei is %s', (wei, text) => {
    expect(weiText(wei)).toBe(text)
  })
})
