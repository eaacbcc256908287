import { createClient } from 'fx-protection-client'
import { createPublicClient, createWalletClient, erc20Abi, type Hex, http, maxUint256 } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import { protocolAbi } from '../../../src/abi/protocol.generated.ts'
import { sandbox } from './process.ts'

const user = (addressIndex: number) =>
  mnemonicToAccount('test test test test test test test test test test test junk', { addressIndex })
const creator = user(4)
const somebody = user(5)

const VALIDITY = 120n

test.each([8453, 56])(
  'a signed quote on chain %i creates its event once, in time, for its creator',
  async (chainId) => {
    const client = createClient({ baseUrl: sandbox.url })
    const chain = (await client.get('/v1/chains')).data.find((each) => each.chainId === chainId)
    if (chain === undefined) throw new Error(`the API does not list chain ${chainId}`)
    const { usdc: token, diamond } = chain
    const node = createPublicClient({ transport: http(chain.rpcUrl), pollingInterval: 200 })
    for (const signer of [creator, somebody]) {
      const wallet = createWalletClient({ account: signer, transport: http(chain.rpcUrl) })
      const approval = { abi: erc20Abi, functionName: 'approve', args: [diamond, maxUint256] } as const
      const hash = await wallet.writeContract({ chain: null, address: token, ...approval })
      await node.waitForTransactionReceipt({ hash })
    }
    const { timestamp } = await node.getBlock()
    const terms = {
      ...{ pair: 'USD/GHS', strike: 12, payoutCap: 13.5, strikeAbove: true, notional: 10_000 },
      expiryUnixSeconds: Number(timestamp) + 30 * 86_400,
    }
    const parties = { chainId, diamondAddress: diamond, creator: creator.address }
    const { data: quote } = await client.post('/v1/pricing/quote', { ...terms, ...parties })
    const { attestation, breakdown, premiumRateFixed6 } = quote
    if (attestation === null) throw new Error('the quote is not signed')
    const { signature, quoteTimestamp, quoteNonce } = attestation
    const event = {
      ...{ name: 'Cedi protection', underlying: terms.pair, strike: 12_000_000n, payoutCap: 13_500_000n },
      ...{ premiumRate: premiumRateFixed6, initialRate: BigInt(String(breakdown.initialRateFixed6)) },
      ...{ expiry: BigInt(terms.expiryUnixSeconds), strikeAbove: true, allowExternalLp: true },
      ...{ initialLiquidity: 0n, paymentToken: token, signature, quoteTimestamp, quoteNonce },
    }
    /** The node's result for the built call; the time is that of the block that would contain it. */
    const outcome = async (body: typeof event, from: Hex = creator.address, time = quoteTimestamp): Promise<string> => {
      const { to, data } = (await client.post('/v1/tx/hedge/create-event', { ...body, chainId })).data
      return node.call({ account: from, to, data, blockOverrides: { time } }).then(
        () => 'accepted',
        (error: unknown) => String(error).match(/reverted(?: with reason string '|: )([^'\n]*)/)?.[1] ?? String(error),
      )
    }

    expect(await outcome(event)).toBe('accepted')
    expect(await outcome(event, creator.address, quoteTimestamp + VALIDITY)).toBe('accepted')
    expect(await outcome(event, creator.address, quoteTimestamp + VALIDITY + 1n)).toBe('Quote expired')
    expect(await outcome(event, somebody.address)).toBe('Bad quote signature')
    const changed = {
      ...{ underlying: 'GHS/USD', strike: 12_000_001n, payoutCap: 13_499_999n, premiumRate: premiumRateFixed6 - 1n },
      ...{ initialRate: 11_000_000n, expiry: event.expiry + 1n, quoteTimestamp: quoteTimestamp - 1n },
      quoteNonce: `0x${'ab'.repeat(32)}`,
    }
    for (const [field, value] of Object.entries(changed)) {
      expect([field, await outcome({ ...event, [field]: value })]).toEqual([field, 'Bad quote signature'])
    }

    const wallet = createWalletClient({ account: creator, transport: http(chain.rpcUrl) })
    const from = creator.address
    await client.execute(await client.plans.createEvent({ chainId, from, ...event }), wallet)
    expect(await outcome(event)).toBe('Quote nonce used')
    const { data: refused } = await client.post('/v1/tx/hedge/create-event', { ...event, chainId, from })
    expect([refused.estimatedGas, refused.simulation?.code]).toEqual([null, 'quote_nonce_used'])

    const { name, allowExternalLp, paymentToken, initialLiquidity } = event
    const own = { name, allowExternalLp, paymentToken, initialLiquidity }
    const planned = await client.plans.createEvent({ chainId, from, ...own, quote: terms })
    const { eventIds } = await client.execute(planned, wallet)
    const signedBy = { address: diamond, abi: protocolAbi, functionName: 'getEventQuoteSigner' } as const
    const args = [BigInt(eventIds[0] ?? 0)] as const
    expect(await node.readContract({ ...signedBy, args })).toBe(attestation.signerAddress)
  },
)
