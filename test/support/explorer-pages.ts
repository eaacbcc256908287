/** The pages of the explorer, by the names of their screenshots: a sandbox has what they show. */
export const explorerPages = {
  home: '/explorer',
  events: '/explorer/events',
  event: '/explorer/event/8453/9',
  settled: '/explorer/event/8453/1',
  wallet: '/explorer/wallet/0x976EA74026E726554dB657fA54763abd0C3a0aa9',
  position: '/explorer/position/8453/2',
  deposit: '/explorer/deposit/8453/2',
  quote: '/explorer/quote',
  act: '/explorer/act',
  buy: '/explorer/act/buy-protection?chainId=8453&eventId=9',
  status: '/explorer/status',
  missing: '/explorer/no/such/page',
} as const
