import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { errorText } from '../../src/lib/errors.ts'

test('the text of what is thrown is never empty', async () => {
  expect(errorText(new Error('no'))).toBe('no')
  expect(errorText('no')).toBe('no')
  // A name with two addresses that both refuse, as the system tells it.
  const both = await new Promise<unknown>((resolve) =>
    connect({
      ...{ host: 'both', port: 9, autoSelectFamily: true },
      lookup: (_, __, done) =>
        done(null, [
          { address: '127.0.0.1', family: 4 },
          { address: '::1', family: 6 },
        ]),
    }).once('error', resolve),
  )
  expect(both).toBeInstanceOf(AggregateError)
  expect(errorText(both)).toMatch(/127\.0\.0\.1:9.*, .*::1/)
})
