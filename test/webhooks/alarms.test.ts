import { expect, test } from 'vitest'
import { webhookAlarms } from '../../src/reads/health/webhooks.ts'

const failing = (state: 'active' | 'paused' | 'disabled', hours: number) =>
  webhookAlarms({
    ...{ endpoints: 1, waiting: 0 },
    failing: [{ id: 'we_1', state, failure: 'status 500', failingSeconds: hours * 3_600 }],
  })

const remedy = 'repair the receiver and run webhooks resume we_1, or remove the endpoint.'

test('an endpoint that has failed for a day, or is stopped, raises an alarm with its reason and remedy', () => {
  expect(failing('active', 23)).toEqual([])
  expect(failing('active', 24)).toEqual([`Webhook endpoint we_1 is active and has failed for 24 h: ${remedy}`])
  expect(failing('paused', 71)).toEqual([`Webhook endpoint we_1 is paused and has failed for 71 h: ${remedy}`])
  expect(failing('disabled', 0)).toEqual([
    `Webhook endpoint we_1 is disabled because the receiver answered 410: ${remedy}`,
  ])
})
