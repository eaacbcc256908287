import { type Address, encodeFunctionData, maxUint256, zeroAddress } from 'viem'
import { artifact } from '../../src/sandbox/deploy.ts'
import type { UsedProtocol } from './use-protocol.ts'

/** The manner of `HostileToken` in which its transfers return nothing. */
const RETURNS_NOTHING = 3

/**
 * Adds two payment tokens that behave as USDT does, and gives them to all accounts that trade: one with 6 decimals
 * changes an allowance only from or to 0, one with 18 decimals returns nothing from a transfer.
 */
export const addUsdtLikeTokens = async (protocol: UsedProtocol) => {
  const { deploy, transact, send, mint, approve, owner, creator, lp, secondLp, hedger, secondHedger } = protocol
  const strict = await deploy('StrictToken')
  const silent = await deploy('HostileToken')
  const behave = {
    abi: artifact('HostileToken').abi,
    functionName: 'behave',
    args: [RETURNS_NOTHING, zeroAddress, '0x'],
  }
  await transact(owner, silent, encodeFunctionData(behave))
  for (const [token, unit] of [
    [strict, 10n ** 6n],
    [silent, 10n ** 18n],
  ] as const satisfies readonly (readonly [Address, bigint])[]) {
    await send(owner, 'setAllowedPaymentToken', [token, true])
    for (const rich of [creator, lp, secondLp, hedger, secondHedger]) {
      await mint(rich, 10_000_000n * unit, token)
      await approve(rich, maxUint256, token)
    }
  }
  return { tokens: [strict, silent], sixDecimals: [strict] }
}
