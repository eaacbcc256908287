import { createWalletClient, erc20Abi, type Hex, http, maxUint256 } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import { createClient } from '../../../examples/api-client.ts'
import { protocolAbi } from '../../../src/abi/protocol.generated.ts'
import type { Quote } from '../../../src/pricing/messages.ts'
import { sandbox } from './process.ts'

const user = (addressIndex: number) =>
  mnemonicToAccount('test test test test test test test test test test test junk', { addressIndex })
const creator = user(4)
const somebody = user(5)

const VALIDITY = 120n

type Built = {
  readonly to: Hex
  readonly data: Hex
  readonly estimatedGas: string | null
  readonly simulation: { readonly code: string | null } | null
}

test.each([8453, 56])(
  'a signed quote on chain %i creates its event once, in time, for its creator',
  async (chainId) => {
    const api = await createClient(sandbox.url, chainId)
    const { usdc: token, diamond } = api.chain
    for (const signer of [creator, somebody]) {
      const wallet = createWalletClient({ account: signer, transport: http(api.chain.rpcUrl) })
      const approval = { abi: erc20Abi, functionName: 'approve', args: [diamond, maxUint256] } as const
      const hash = await wallet.writeContract({ chain: null, address: token, ...approval })
      await api.node.waitForTransactionReceipt({ hash })
    }
    const { timestamp } = await api.node.getBlock()
    const terms = {
      ...{ pair: 'USD/GHS', strike: 12, payoutCap: 13.5, strikeAbove: true, notional: 10_000 },
      expiryUnixSeconds: Number(timestamp) + 30 * 86_400,
    }
    const parties = { chainId, diamondAddress: diamond, creator: creator.address }
    const { attestation, breakdown, premiumRateFixed6 } = await api.post<Quote>('/pricing/quote', {
      ...terms,
      ...parties,
    })
    if (attestation === null) throw new Error('the quote is not signed')
    const { signature, quoteTimestamp, quoteNonce } = attestation
    const event = {
      ...{ name: 'Cedi protection', underlying: terms.pair, strike: '12000000', payoutCap: '13500000' },
      ...{ premiumRate: premiumRateFixed6, initialRate: String(breakdown.initialRateFixed6) },
      ...{ expiry: String(terms.expiryUnixSeconds), strikeAbove: true, allowExternalLp: true },
      ...{ initialLiquidity: '0', paymentToken: token, signature, quoteTimestamp, quoteNonce },
    }
    /** The node's result for the built call; the time is that of the block that would contain it. */
    const outcome = async (
      body: object,
      from: Hex = creator.address,
      time = BigInt(quoteTimestamp),
    ): Promise<string> => {
      const { to, data } = await api.post<Built>('/tx/hedge/create-event', { ...body, chainId })
      return api.node.call({ account: from, to, data, blockOverrides: { time } }).then(
        () => 'accepted',
        (error: unknown) => String(error).match(/reverted(?: with reason string '|: )([^'\n]*)/)?.[1] ?? String(error),
      )
    }

    expect(await outcome(event)).toBe('accepted')
    expect(await outcome(event, creator.address, BigInt(quoteTimestamp) + VALIDITY)).toBe('accepted')
    expect(await outcome(event, creator.address, BigInt(quoteTimestamp) + VALIDITY + 1n)).toBe('Quote expired')
    expect(await outcome(event, somebody.address)).toBe('Bad quote signature')
    const changed = {
      ...{
        underlying: 'GHS/USD',
        strike: '12000001',
        payoutCap: '13499999',
        premiumRate: `${Number(premiumRateFixed6) - 1}`,
      },
      ...{
        initialRate: '11000000',
        expiry: `${terms.expiryUnixSeconds + 1}`,
        quoteTimestamp: `${BigInt(quoteTimestamp) - 1n}`,
      },
      quoteNonce: `0x${'ab'.repeat(32)}`,
    }
    for (const [field, value] of Object.entries(changed)) {
      expect([field, await outcome({ ...event, [field]: value })]).toEqual([field, 'Bad quote signature'])
    }

    await api.act(creator, 'create-event', event)
    expect(await outcome(event)).toBe('Quote nonce used')
    const refused = await api.post<Built>('/tx/hedge/create-event', { ...event, chainId, from: creator.address })
    expect([refused.estimatedGas, refused.simulation?.code]).toEqual([null, 'quote_nonce_used'])

    const planned = {
      ...{ name: 'Cedi protection', allowExternalLp: true, paymentToken: token },
      initialLiquidity: '0',
    }
    const { transaction } = await api.act(creator, 'create-event', { ...planned, quote: terms })
    const [created] = transaction.created.eventIds
    const signedBy = { address: diamond, abi: protocolAbi, functionName: 'getEventQuoteSigner' } as const
    const args = [BigInt(created?.id ?? 0)] as const
    expect(await api.node.readContract({ ...signedBy, args })).toBe(attestation.signerAddress)
  },
)
