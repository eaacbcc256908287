import type { Hex } from 'viem'
import { walletOf } from '../../support/seed-index.ts'
import { type AttackSeries, json, pick } from './attack-series.ts'
import { burnerOf } from './burners.ts'
import type { UnfairOrders } from './messages.ts'
import type { Attack } from './send.ts'

/** What one address sends. */
type UnfairCaller = AttackSeries & {
  /** The answers without which a run of all phases has not attacked anything. */
  readonly least: number
}

const post = (path: string, body: object): Attack => ({
  method: 'POST',
  path,
  headers: json,
  body: JSON.stringify(body),
})

/** The streams that one address may have open, which the caller opens first. */
const STREAMS = 100

const gasBurner = ({ chainId, wallets, diamond }: UnfairOrders): UnfairCaller => ({
  ...{ perSecond: 50, atOnce: 4, least: 10 },
  attack: (turn) => {
    const token = burnerOf(turn)
    const from = pick(wallets, turn)
    return Math.floor(turn / 2) % 2 === 0
      ? post('/v1/plans/revoke-approval', { chainId, from, token })
      : post('/v1/tx/erc20/approve', { chainId, from, token, spender: diamond, amount: '1' })
  },
})

const heavyTraces = ({ chainId, reverted }: UnfairOrders): UnfairCaller => ({
  ...{ perSecond: 50, atOnce: 8, least: 3 },
  attack: (turn) => ({ path: `/v1/transactions/${chainId}/${pick(reverted as readonly Hex[], turn)}` }),
})

const refusedStreams = ({ chainId }: UnfairOrders): UnfairCaller => ({
  ...{ perSecond: 500, atOnce: STREAMS + 100, least: 1_000 },
  attack: (turn) => ({
    path: pick(
      [
        '/v1/hedge/settlements?since=now',
        '/v1/changes/stream?since=now',
        '/v1/hedge/settlements',
        `/v1/changes/stream?chainId=${chainId}`,
        '/v1/hedge/settlements?since=0',
      ],
      turn,
    ),
    headers: { accept: 'text/event-stream' },
    leaveAfterMs: 600_000,
  }),
})

/** The most wallets of one request for changes, and of one for portfolios. */
const CHANGED = 1_000
const LISTED = 100

const unfairCaller = ({ chainId, wallets }: UnfairOrders): UnfairCaller => {
  const many = Array.from({ length: CHANGED }, (_, at) => wallets[at] ?? walletOf(at))
  const changes = post('/v1/changes', { wallets: many, limit: 1_000 })
  const portfolios = post('/v1/wallets/portfolio', { wallets: many.slice(0, LISTED) })
  return {
    ...{ perSecond: 500, atOnce: 40, least: 40 },
    attack: (turn) =>
      pick([changes, portfolios, { path: `/v1/wallets/${pick(wallets, turn)}/balances?chainId=${chainId}` }], turn),
  }
}

/** The unfair callers by name. To add one, add a row. */
export const unfairCallers = {
  'gas-burner': gasBurner,
  'heavy-traces': heavyTraces,
  'refused-streams': refusedStreams,
  'unfair-caller': unfairCaller,
} as const satisfies Readonly<Record<string, (orders: UnfairOrders) => UnfairCaller>>

export type UnfairName = keyof typeof unfairCallers

export const unfairNames = Object.keys(unfairCallers) as readonly UnfairName[]
