import { readFile } from 'node:fs/promises'
import { ApiError } from 'fx-protection-client'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { planPaths } from '../../client/src/names.generated.ts'
import { type ActionName, actions, bodyOf, fieldsOf, isAction } from '../../explorer/src/act/actions.ts'
import { fieldProblems } from '../../explorer/src/act/field-problems.ts'
import { fieldOf, inputTime, readField, type Values } from '../../explorer/src/act/fields.ts'

const FROM = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3'

/** A value for each field, as a person types it. */
const typed: Values = {
  ...{ chainId: '8453', eventId: '9', positionId: '66', depositId: '12', amount: '5,000.5', notional: '10000' },
  ...{ initialLiquidity: '75000', price: '19.8', name: 'Peso', underlying: 'USD/MXN', strike: '19.2', payoutCap: '21' },
  ...{ initialRate: '18.4', premiumRate: '2.3', expiry: '2027-03-03T14:05', paymentToken: TOKEN, token: TOKEN },
  ...{ deadlineSeconds: '15', maxCostBps: '0.25', approval: 'unlimited', signed: 'true', poolOpen: 'false' },
}

const paths = JSON.parse(await readFile('docs/openapi.json', 'utf8')).paths
const schemaOf = (action: string) =>
  z.fromJSONSchema(paths[`/v1/plans/${action}`].post.requestBody.content['application/json'].schema)

const names = Object.keys(actions) as ActionName[]

const filled = (action: ActionName, values: Values, decimals: number | null = 6) => {
  const made = bodyOf(action, values, decimals)
  if ('problems' in made) throw new TypeError(JSON.stringify(made.problems))
  return made.body
}

describe('the table of actions', () => {
  it('has exactly the plans of the API', () => {
    expect(names.map((name) => `/v1/plans/${name}`).toSorted()).toEqual(Object.values(planPaths).toSorted())
  })

  it.each(names)('makes a request of %s that the description of the API accepts', (action) => {
    const forms: Values[] = action === 'create-event' ? [typed, { ...typed, pricing: 'own' }] : [typed]
    for (const values of forms) {
      const body = { ...filled(action, values), from: FROM }
      expect(schemaOf(action).safeParse(body).error).toBeUndefined()
    }
  })

  it.each(names)('leaves no required field out of %s', (action) => {
    const { required } = paths[`/v1/plans/${action}`].post.requestBody.content['application/json'].schema
    expect(Object.keys({ ...filled(action, typed), from: FROM })).toEqual(expect.arrayContaining(required))
  })

  it('knows an action only by its own name', () => {
    expect(isAction('deposit')).toBe(true)
    expect(isAction('constructor')).toBe(false)
  })

  it('offers only choices that a field accepts', () => {
    for (const name of names.flatMap((action) => actions[action].fields)) {
      for (const choice of Object.keys(fieldOf(name).choices ?? {}).filter(Boolean))
        expect(readField(name, choice, { decimals: 6 })).toHaveProperty('value')
    }
  })
})

describe('the request of an action', () => {
  it('has amounts in units of the token of the event', () => {
    expect(filled('deposit', typed, 6)).toMatchObject({ amount: '5000500000', eventId: 9, chainId: 8453 })
    expect(filled('deposit', typed, 18)).toMatchObject({ amount: '5000500000000000000000' })
  })

  it('leaves out optional fields that are empty', () => {
    const values = { ...typed, approval: '', maxCostBps: '', deadlineSeconds: ' ' }
    expect(filled('buy-protection', values)).toEqual({ chainId: 8453, eventId: 9, notional: '10000000000' })
  })

  it('asks the engine for the terms of an event, or takes those of the creator', () => {
    expect(filled('create-event', typed)).toEqual({
      ...{ chainId: 8453, name: 'Peso', paymentToken: TOKEN, initialLiquidity: '75000000000', allowExternalLp: true },
      approval: 'unlimited',
      quote: {
        ...{ pair: 'USD/MXN', strike: 19.2, payoutCap: 21, expiryUnixSeconds: 1_804_082_700, notional: 10_000 },
        ...{ strikeAbove: true, signed: true },
      },
    })
    const own = { ...typed, pricing: 'own', payoutCap: '', strikeAbove: 'false', approval: '' }
    expect(filled('create-event', own, 18)).toEqual({
      ...{ chainId: 8453, name: 'Peso', paymentToken: TOKEN, initialLiquidity: '75000000000000000000000' },
      ...{ allowExternalLp: true, underlying: 'USD/MXN', strike: '19200000', payoutCap: '0', premiumRate: '23000' },
      ...{ initialRate: '18400000', expiry: '1804082700', strikeAbove: false, signature: '0x', quoteTimestamp: '0' },
      quoteNonce: `0x${'0'.repeat(64)}`,
    })
  })

  it('has a price rise in basis points and a validity in seconds, exactly', () => {
    expect(filled('buy-protection', typed)).toMatchObject({ maxCostBps: 25, deadlineSeconds: 900 })
    const most = { ...typed, maxCostBps: '100', deadlineSeconds: '1440' }
    expect(filled('buy-protection', most)).toMatchObject({ maxCostBps: 10_000, deadlineSeconds: 86_400 })
    expect(filled('buy-protection', { ...typed, maxCostBps: '0' })).toMatchObject({ maxCostBps: 0 })
  })

  it.each([
    ['true', '19.2', 'Expected a rate above the strike.'],
    ['true', '18', 'Expected a rate above the strike.'],
    ['false', '21', 'Expected a rate below the strike.'],
  ])(
    'is not made with a cap on the wrong side of the strike (above: %s, cap %s)',
    (strikeAbove, payoutCap, problem) => {
      for (const pricing of ['engine', 'own'])
        expect(bodyOf('create-event', { ...typed, pricing, strikeAbove, payoutCap }, 6)).toEqual({
          problems: { payoutCap: problem },
        })
    },
  )

  it('requires a cap of the engine only', () => {
    expect(bodyOf('create-event', { ...typed, payoutCap: '' }, 6)).toEqual({ problems: { payoutCap: '' } })
  })

  it('shows only the fields of the chosen pricing', () => {
    expect(fieldsOf('create-event', {})).toEqual(expect.arrayContaining(['notional', 'signed']))
    expect(fieldsOf('create-event', {})).not.toContain('premiumRate')
    expect(fieldsOf('create-event', { pricing: 'own' })).not.toContain('notional')
  })

  it('is not made while something is missing or wrong, with a problem for each field', () => {
    const values = { ...typed, eventId: '1.5', amount: '1.1234567' }
    expect(bodyOf('deposit', values, 6)).toEqual({
      problems: {
        eventId: 'Expected a whole number.',
        amount: 'Expected an amount in whole tokens above 0 with at most 6 decimals.',
      },
    })
    // What is not filled in yet, and the decimals that are not known yet, are no mistakes.
    expect(bodyOf('deposit', { ...typed, eventId: '' }, null)).toEqual({ problems: { eventId: '', amount: '' } })
  })
})

describe('a validation error of the API', () => {
  const error = (status: number, ...paths: readonly string[]) => {
    const details = paths.map((path) => ({ path, message: 'the expiry has passed' }))
    const given = { code: 'validation_error', message: 'm', details } as const
    return new ApiError(given, { status, requestId: undefined, retryAfterMs: undefined })
  }

  it('is shown at the field that it names, also of a quote', () => {
    const shown = fieldsOf('create-event', {})
    expect(fieldProblems(error(400, 'quote.expiryUnixSeconds'), shown)).toEqual({ expiry: 'The expiry has passed.' })
    expect(fieldProblems(error(400, 'pair', 'payoutCap'), shown)).toEqual({
      ...{ underlying: 'The expiry has passed.', payoutCap: 'The expiry has passed.' },
    })
  })

  it.each([
    ['names something that the form does not have', error(400, 'expiry', 'from')],
    ['names a field of another form', error(400, 'positionId')],
    ['is no validation error', error(409, 'expiry')],
    ['is another error', new Error('expiry')],
  ])('is shown at no field when it %s', (_, cause) => {
    expect(fieldProblems(cause, fieldsOf('create-event', {}))).toEqual({})
  })
})

describe('a field', () => {
  const read = (name: Parameters<typeof readField>[0], text: string) => readField(name, text, { decimals: 6 })

  it.each([
    ['eventId', '9007199254740993'],
    ['amount', '0'],
    ['amount', '-1'],
    ['amount', '1e3'],
    ['price', '1.1234567'],
    ['expiry', '2027-13-03T14:05'],
    ['expiry', '1804082700'],
    ['poolOpen', 'yes'],
    ['approval', 'toString'],
    ['token', '0x5FbDB2315678afecb367f032d93F642f64180aa'],
    ['maxCostBps', '100.01'],
    ['maxCostBps', '0.001'],
    ['maxCostBps', '0,5'],
    ['deadlineSeconds', '0'],
    ['deadlineSeconds', '1441'],
    ['deadlineSeconds', '1.5'],
    ['name', 'x'.repeat(257)],
  ] as const)('rejects for %s the value %s', (name, text) => {
    expect(read(name, text)).toEqual({ problem: expect.stringMatching(/^Expected .+\.$/) })
  })

  it('reads times as UTC, and writes them the same way', () => {
    expect(read('expiry', inputTime(1_804_082_700))).toEqual({ value: '1804082700' })
  })
})
