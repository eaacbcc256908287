import type { Cast } from './accounts.ts'
import type { ProtocolChain } from './actions.ts'

/** What a newcomer needs on one screen: where everything is, who may do what, and calls to paste. */
export const summary = (
  apiUrl: string,
  envFile: string,
  chains: readonly ProtocolChain[],
  cast: Cast,
  notes: readonly string[],
): string => {
  const roles = [
    ...[cast.owner].map((wallet) => ({ wallet, role: 'owner, oracle admin' })),
    ...cast.oracles.map((wallet) => ({ wallet, role: 'oracle' })),
    ...cast.users.map((wallet) => ({ wallet, role: 'user' })),
  ]
  const user = cast.users[0]?.account.address
  return [
    '',
    `The sandbox is ready: ${apiUrl}`,
    ...notes.map((note) => `  ${note}`),
    '',
    'Chains',
    ...chains.flatMap(({ chainId, rpcUrl, diamond, tokens }) => [
      `  ${String(chainId).padEnd(5)} node    ${rpcUrl}`,
      `        diamond ${diamond}`,
      ...tokens.map(({ symbol, address, decimals }) => `        ${symbol.padEnd(7)} ${address}  ${decimals} decimals`),
    ]),
    '',
    'Accounts: the well-known keys of anvil’s default mnemonic, for this sandbox only: whatever they own elsewhere is anybody’s',
    ...roles.map(({ wallet, role }) => `  ${wallet.index}  ${wallet.account.address}  ${wallet.privateKey}  ${role}`),
    '  Each holds a million of every payment token, and coins for gas.',
    '',
    'Try',
    `  curl -s ${apiUrl}/v1/chains`,
    `  curl -s ${apiUrl}/v1/hedge/events/8453/1/stats`,
    `  curl -s ${apiUrl}/v1/hedge/events/56/9/utilization`,
    `  curl -s ${apiUrl}/v1/hedge/positions/8453/wallet/${user}`,
    `  curl -s ${apiUrl}/v1/tx/hedge/deposit -H 'content-type: application/json' -d '{"chainId":8453,"eventId":9,"amount":"1000000000","from":"${user}"}'`,
    `  npm run lifecycle -- ${apiUrl}`,
    `  npm run audit -- --env-file ${envFile}`,
    '',
  ].join('\n')
}
