import { expect, test } from 'vitest'
import { eventOf } from '../../explorer/src/sandbox/page-event.ts'
import { clockText, eventText, payingRate } from '../../explorer/src/sandbox/texts.ts'
import { createWallet } from '../../explorer/src/sandbox/wallet.ts'

const DAY = 86_400
const event = {
  ...{ id: 9, name: 'Peso', strike: '19200000', payoutCap: '21000000', strikeAbove: true },
  ...{ expiry: 10 * DAY, isSettled: false },
}

test.each([
  ['/explorer/event/8453/9', { chainId: 8453, eventId: 9 }],
  ['/under/a/path/explorer/event/56/12/', { chainId: 56, eventId: 12 }],
  ['/explorer/event/8453/9?at=2026-01-01', { chainId: 8453, eventId: 9 }],
  ['/explorer/act/buy-protection?chainId=56&eventId=12&notional=5', { chainId: 56, eventId: 12 }],
  ['/under/a/path/explorer/act/deposit?amount=5&eventId=12&chainId=56', { chainId: 56, eventId: 12 }],
  ['/explorer/act/claim-payout?chainId=56&positionId=12', null],
  ['/explorer/act/deposit?chainId=56', null],
  ['/explorer/events?chainId=56&eventId=12', null],
  ['/explorer/event/8453', null],
  ['/explorer/event/8453/9x', null],
  ['/explorer/events', null],
])('the page %s shows the event %j', (path, shown) => {
  expect(eventOf(path)).toEqual(shown)
})

test('the panel explains what chains that are ahead mean, and nothing when they are in step', () => {
  expect(clockText(1_799_207_124, 5)).toBe('The time of the chains is 6 Jan 2027, 03:45 UTC.')
  expect(clockText(1_799_207_124, 40 * DAY)).toMatch(
    /40 days ahead of this machine\. The pricing engine signs no quotes/,
  )
})

test('an event is described by its terms and by what comes next for it', () => {
  expect(eventText(event, 7 * DAY)).toBe('Peso: pays above 19.2, expires in 3 days.')
  expect(eventText(event, 10 * DAY)).toBe('Peso: pays above 19.2, waits for settlement.')
  expect(eventText({ ...event, strikeAbove: false, isSettled: true }, 0)).toBe('Peso: pays below 19.2, is settled.')
  expect(eventText({ ...event, name: '\u202e'.repeat(10) + 'x'.repeat(100) }, 0)).not.toMatch(/\u202e|x{61}/)
})

test('the settlement rate that is proposed pays in full, in both directions', () => {
  expect(payingRate(event)).toBe('21')
  expect(payingRate({ ...event, strike: '1485000000', payoutCap: '0' })).toBe('1559.25')
  expect(payingRate({ ...event, strike: '1000000', payoutCap: '0', strikeAbove: false })).toBe('0.95')
})

const [account, second] = ['0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65', '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc']

/** The wallet on a node that answers with the chain that it was called on. */
const openWallet = (node = async (chainId: number): Promise<unknown> => ({ result: chainId })) =>
  createWallet({ account, chainId: 8453 }, [8453, 56], node)

test('the wallet has the account that was chosen, and notifies the page of another one once', async () => {
  const { provider, chooseAccount } = openWallet()
  const seen: unknown[] = []
  provider.on('accountsChanged', (accounts) => seen.push(accounts))
  expect(await provider.request({ method: 'eth_requestAccounts' })).toEqual([account])
  chooseAccount(second)
  chooseAccount(second)
  expect(await provider.request({ method: 'eth_accounts' })).toEqual([second])
  expect(seen).toEqual([[second]])
})

test('the wallet switches to a chain of the sandbox, calls its node, and refuses other chains with 4902', async () => {
  const { provider } = openWallet()
  const seen: unknown[] = []
  const listener = (chainId: unknown): void => void seen.push(chainId)
  provider.on('chainChanged', listener)
  const to = (chainId: string) => provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId }] })
  expect(await to('0x38')).toBeNull()
  expect(await provider.request({ method: 'eth_chainId' })).toBe('0x38')
  expect(await provider.request({ method: 'eth_gasPrice' })).toBe(56)
  await expect(to('0x1')).rejects.toMatchObject({ code: 4902, message: 'the sandbox has no chain 0x1' })
  provider.removeListener('chainChanged', listener)
  await to('0x2105')
  expect(seen).toEqual(['0x38'])
})

test('an error of the node keeps its code and its data, and a node without an answer is a disconnected one', async () => {
  const error = { code: 3, message: 'execution reverted', data: '0x08c379a0' }
  const reverting = openWallet(async () => ({ error }))
  await expect(reverting.provider.request({ method: 'eth_call' })).rejects.toMatchObject(error)
  const gone = openWallet(async () => {
    throw new Error('The sandbox does not answer: it may have stopped.')
  })
  await expect(gone.provider.request({ method: 'eth_call' })).rejects.toMatchObject({ code: 4900 })
})
