import type { Accounts } from './story/accounts.ts'
import type { ProtocolChain } from './story/actions.ts'

/** A summary for one screen: addresses, accounts with their roles, and example calls. */
export const summary = (
  apiUrl: string,
  envFile: string,
  chains: readonly ProtocolChain[],
  accounts: Accounts,
  notes: readonly string[],
): string => {
  const roles = [
    ...[accounts.owner].map((wallet) => ({ wallet, role: 'owner, oracle admin' })),
    ...accounts.oracles.map((wallet) => ({ wallet, role: 'oracle' })),
    ...accounts.users.map((wallet) => ({ wallet, role: 'user' })),
  ]
  const user = accounts.users[0]?.account.address
  const [first, last] = [chains.at(0)?.chainId, chains.at(-1)?.chainId]
  return [
    '',
    `The sandbox is ready: ${apiUrl}`,
    `  Explorer, with a wallet and controls: ${apiUrl}/explorer`,
    ...notes.map((note) => `  ${note}`),
    '',
    'Chains',
    ...chains.flatMap(({ chainId, rpcUrl, diamond, tokens }) => [
      `  ${String(chainId).padEnd(5)} node    ${rpcUrl}`,
      `        diamond ${diamond}`,
      ...tokens.map(({ symbol, address, decimals }) => `        ${symbol.padEnd(7)} ${address}  ${decimals} decimals`),
    ]),
    '',
    'Accounts: the well-known keys of anvil’s default mnemonic, for this sandbox only: anyone can spend what they own on other chains',
    ...roles.map(({ wallet, role }) => `  ${wallet.index}  ${wallet.account.address}  ${wallet.privateKey}  ${role}`),
    '  Each holds a million of every payment token, and coins for gas.',
    '',
    'Try',
    `  curl -s ${apiUrl}/v1/chains`,
    `  curl -s ${apiUrl}/v1/hedge/events/${first}/1/stats`,
    `  curl -s ${apiUrl}/v1/hedge/events/${last}/9/utilization`,
    `  curl -s ${apiUrl}/v1/hedge/positions/${first}/wallet/${user}`,
    `  curl -s '${apiUrl}/v1/activity?wallet=${user}&limit=5&format=csv'`,
    `  curl -s '${apiUrl}/v1/hedge/events/${first}/1/series?interval=week&metric=liquidity,premiums,payouts&format=csv'`,
    `  curl -s '${apiUrl}/v1/changes?types=wallet&limit=3'`,
    `  curl -s '${apiUrl}/v1/hedge/settlements?chainId=${first}&finality=finalized&limit=3'`,
    `  curl -s ${apiUrl}/v1/tx/hedge/deposit -H 'content-type: application/json' -d '{"chainId":${first},"eventId":9,"amount":"1000000000","from":"${user}"}'`,
    `  curl -s ${apiUrl}/v1/plans/buy-protection -H 'content-type: application/json' -d '{"chainId":${first},"from":"${user}","eventId":9,"notional":"1000000000"}'`,
    `  npm run lifecycle -- ${apiUrl}`,
    `  npm run webhooks -- ${envFile}`,
    `  npm run audit -- --env-file ${envFile}`,
    '',
  ].join('\n')
}
