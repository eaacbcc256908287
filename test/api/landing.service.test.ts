import { afterAll, beforeAll, expect, test } from 'vitest'
import type { openApp } from '../support/app.ts'
import { startIndexed } from '../support/indexing.ts'
import { eventually } from '../support/process.ts'

/* The landing page of a service with an index: its picture is of an event that can be bought. */

let indexed: Awaited<ReturnType<typeof startIndexed>>
let api: Awaited<ReturnType<typeof openApp>>

beforeAll(async () => {
  indexed = await startIndexed([8453])
  api = await indexed.open()
  await indexed.quiet()
})
afterAll(() => indexed?.close())

const landing = async (): Promise<string> => (await api.app.inject({ url: '/', headers: { accept: 'text/html' } })).body

test('the picture has the terms and the greatest payout of the open event, as the protocol computes it', async () => {
  let page = await landing()
  await eventually('the chain is ready', async () => {
    page = await landing()
    return page.includes('<figure')
  })
  const { data: event } = (await api.app.inject('/v1/hedge/events/8453/1')).json()
  const [, terms = ''] = /<figcaption><p>([^<]+)<\/p>/.exec(page) ?? []
  const rate = Number(event.strike) / 1e6
  expect(terms).toContain(`Pays if ${event.underlying} is above ${rate} on `)
  const settlement = `/v1/hedge/quote-payout/8453/1?notional=${10_000n * 10n ** 6n}&hypoSettlement=${event.payoutCap}`
  const { data: payout } = (await api.app.inject(settlement)).json()
  // Amounts are rounded down. The cost is the premium of 230 and its fee of 0.5 %.
  const cents = Math.floor(Number(payout) / 1e4) / 100
  const most = cents.toLocaleString('en-US', { minimumFractionDigits: 2 })
  expect(terms).toContain(`at most ${most} USDC for 10,000 protected, at a cost of 231.15.`)
  expect(page).toContain('<a href="explorer/event/8453/1">Event 1 on Base</a>')
})
