/** A request of the mix. */
export type Question = { readonly method: 'GET' | 'POST'; readonly path: string; readonly body?: object }

const get = (path: string): Question => ({ method: 'GET', path })
const post = (path: string, body: object): Question => ({ method: 'POST', path, body })

/**
 * Typical requests of integrators for one chain, each weighted by the number of its entries: single reads of chain and
 * index, lists, a portfolio, the feed, and calldata. The event and the wallet must exist.
 */
export const questionsOf = ({
  chainId,
  eventId,
  wallet,
}: {
  readonly chainId: number
  readonly eventId: number
  readonly wallet: string
}): readonly Question[] => [
  get(`/v1/hedge/events/${chainId}/${eventId}`),
  get(`/v1/hedge/events/${chainId}/${eventId}/stats`),
  get(`/v1/hedge/events/${chainId}/${eventId}/utilization`),
  get(`/v1/hedge/events/${chainId}/${eventId}/positions`),
  get(`/v1/hedge/events/${chainId}/total`),
  get(`/v1/hedge/quote-payout/${chainId}/${eventId}?hypoSettlement=12500000&notional=1000000`),
  get(`/v1/hedge/positions/${chainId}/wallet/${wallet}`),
  get(`/v1/hedge/events?chainId=${chainId}&limit=20`),
  get(`/v1/hedge/positions?chainId=${chainId}&limit=20`),
  get(`/v1/wallets/${wallet}/portfolio`),
  get(`/v1/hedge/settlements?chainId=${chainId}`),
  get('/v1/chains'),
  post('/v1/tx/erc20/approve', { chainId, token: wallet, spender: wallet, amount: '1' }),
  post('/v1/tx/hedge/deposit', { chainId, eventId, amount: '1000000' }),
]
