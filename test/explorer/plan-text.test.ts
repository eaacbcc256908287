import { readFile } from 'node:fs/promises'
import { ConnectionError, ExecutionError, type Plan } from 'fx-protection-client'
import { describe, expect, it } from 'vitest'
import { decode } from '../../client/src/codec.ts'
import { failureOf } from '../../explorer/src/act/failure.ts'
import { approvalsOf, createdBy, createdText, guideOf, issuesOf } from '../../explorer/src/act/plan-text.ts'
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
