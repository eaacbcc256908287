/* A plan as it is returned: the purchase of docs/plans.md. */

const FROM = '0x976EA74026E726554dB657fA54763abd0C3a0aa9'
const DIAMOND = '0x610178dA211FEF7D417bC0e6FeD39F05609AD788'

const token = { token: '0x5FbDB2315678afecb367f032d93F642f64180aa3', symbol: 'USDC', decimals: 6 } as const

const word = (value: number): string => value.toString(16).padStart(64, '0')

const DEADLINE = 1_800_000_601
const data = `0xf4ed1b8b${[1, 10_000_000_000, 231_150_000, DEADLINE].map(word).join('')}` as const

const simulation = { status: 'success', code: null, reason: null, hint: null, blockNumber: 31_415_926 } as const

/** An example of a plan. */
export const examplePlan = {
  action: 'buy-protection',
  chainId: 8453,
  from: FROM,
  block: { number: 31_415_926, hash: `0x${'5f'.repeat(32)}`, timestamp: 1_800_000_000 },
  method: 'eth_simulateV1',
  summary: 'Buy protection of 10000 USDC in event 1 for at most 231.15 USDC, until 2027-01-15T08:10:01Z.',
  executable: true,
  issues: [],
  cost: {
    ...{ premium: '230000000', platformFee: '1150000', total: '231150000', maxCost: '231150000', exact: true },
    ...token,
  },
  payout: null,
  steps: [
    {
      id: 'buy-protection',
      transaction: {
        ...{ chainId: 8453, to: DIAMOND, data, value: '0', function: 'buyProtection' },
        args: { eventId: '1', notional: '10000000000', maxCost: '231150000', deadline: `${DEADLINE}` },
        estimatedGas: '367261',
        simulation,
      },
      request: {
        ...{ type: '0x2', chainId: '0x2105', nonce: '0x5', from: FROM, to: DIAMOND, data, value: '0x0' },
        ...{ gas: '0x748ff', maxFeePerGas: '0x3c9f037c', maxPriorityFeePerGas: '0x3b9aca00' },
      },
      simulation,
      payout: null,
    },
  ],
  walletCalls: {
    ...{ version: '2.0.0', chainId: '0x2105', from: FROM, atomicRequired: false },
    calls: [{ to: DIAMOND, data, value: '0x0' }],
  },
  effects: {
    created: { positionId: 5, predicted: true },
    balanceChanges: [
      { account: FROM, ...token, amount: '-231150000' },
      { account: DIAMOND, ...token, amount: '231150000' },
    ],
  },
  gasCost: { execution: '485581280991364', dataFee: '0', total: '485581280991364', symbol: 'ETH' },
  validUntil: { blockNumber: 31_415_927, timestamp: DEADLINE },
  remaining: 0,
  digest: `0x${'5f'.repeat(32)}`,
} as const
