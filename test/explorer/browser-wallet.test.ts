import { describe, expect, it } from 'vitest'
import {
  accountOf,
  announcedWallet,
  chainIdOf,
  legacyWallet,
  type Provider,
  refusalText,
  switchChain,
} from '../../explorer/src/wallet/provider.ts'

const provider: Provider = { request: async () => null }
const info = { uuid: '1', rdns: 'org.example.wallet', name: 'Example', icon: 'data:image/png;base64,AA==' }
const ACCOUNT = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

describe('an announced wallet', () => {
  it('has the name and the icon that it claims', () => {
    expect(announcedWallet({ info, provider })).toEqual({
      ...{ rdns: 'org.example.wallet', name: 'Example', icon: 'data:image/png;base64,AA==', provider },
    })
  })

  it('has a name that is cut and cannot change the text around it', () => {
    const name = `\u202E<b>${'x'.repeat(10_000)}`
    expect(announcedWallet({ info: { ...info, name }, provider })?.name).toBe(`<b>${'x'.repeat(37)}…`)
    expect(announcedWallet({ info: { ...info, name: 7 }, provider })?.name).toBe('org.example.wallet')
  })

  it.each([
    'https://example.org/icon.png',
    'javascript:alert(1)',
    'data:text/html,<script>',
    'data:image/svg+xml',
    `data:image/png;base64,${'A'.repeat(65_536)}`,
    undefined,
    7,
  ])('has no icon that is not a small image of its own: %#', (icon) => {
    expect(announcedWallet({ info: { ...info, icon }, provider })).toMatchObject({ icon: null })
  })

  it.each([
    undefined,
    null,
    {},
    { info },
    { info, provider: {} },
    { info: { ...info, rdns: undefined }, provider },
    { info: { ...info, rdns: 'a b' }, provider },
    { info: { ...info, rdns: 'a'.repeat(101) }, provider },
  ])('is ignored without a provider and a name as a domain: %#', (detail) => {
    expect(announcedWallet(detail)).toBeNull()
  })
})

describe('what a wallet returns', () => {
  it('is used only when it is an account or a chain id', () => {
    expect(accountOf([ACCOUNT, 'other'])).toBe(ACCOUNT)
    expect([accountOf([]), accountOf('0x'), accountOf(['0x12']), accountOf(null)]).toEqual([null, null, null, null])
    expect([chainIdOf('0x2105'), chainIdOf('56'), chainIdOf(56)]).toEqual([8453, 56, 56])
    expect([chainIdOf('x'), chainIdOf(null), chainIdOf(0), chainIdOf({})]).toEqual([null, null, null, null])
  })

  it('is put in words when it is a refusal', () => {
    expect(refusalText({ code: 4001, message: 'x' })).toBe('The request was declined in the wallet.')
    expect(refusalText({ code: -32_002 })).toMatch(/already shows a request/)
    expect(refusalText(new Error(`no\nstack ${'x'.repeat(900)}`))).toBe('no')
    expect(refusalText(undefined)).toBe('The wallet gave no reason.')
  })

  it('is a wallet of the browser only with a way to ask it', () => {
    expect(legacyWallet(provider)).toMatchObject({ rdns: 'window.ethereum', icon: null })
    expect(legacyWallet(undefined)).toBeNull()
    expect(legacyWallet({ isMetaMask: true })).toBeNull()
  })
})

describe('the switch to the chain of a plan', () => {
  const chain = { chainId: 8453, name: 'Base', symbol: 'ETH', rpcUrl: 'https://base.example' }

  /** A wallet with its chains: it answers as EIP-3326 and EIP-3085 define, and keeps what it was asked. */
  const walletWith = (known: readonly string[], wrap: (error: object) => object = (error) => error) => {
    const asked: string[] = []
    const chains = new Set(known)
    let current = known[0]
    const request: Provider['request'] = async ({ method, params = [] }) => {
      asked.push(method)
      const { chainId } = Object(params[0])
      if (method === 'eth_chainId') return current
      if (method === 'wallet_addEthereumChain') {
        expect(params).toEqual([
          {
            ...{ chainId: '0x2105', chainName: 'Base', rpcUrls: ['https://base.example'] },
            nativeCurrency: { name: 'ETH', symbol: 'ETH', decimals: 18 },
          },
        ])
        chains.add(chainId)
      } else if (chains.has(chainId)) current = chainId
      else throw wrap({ code: 4902, message: 'Unrecognized chain' })
      return null
    }
    return { provider: { request }, asked, current: () => current }
  }

  it('asks for nothing when the wallet is on it', async () => {
    const { provider, asked } = walletWith(['0x2105'])
    await switchChain(provider, chain)
    expect(asked).toEqual(['eth_chainId'])
  })

  it.each([
    ['plain', (error: object) => error],
    ['wrapped', (error: object) => ({ code: -32_603, data: { originalError: error } })],
  ])('adds the chain to a wallet that does not know it, with a %s error', async (_, wrap) => {
    const { provider, asked, current } = walletWith(['0x1'], wrap)
    await switchChain(provider, chain)
    expect(asked.slice(1)).toEqual([
      ...['wallet_switchEthereumChain', 'wallet_addEthereumChain', 'wallet_switchEthereumChain'],
    ])
    expect(current()).toBe('0x2105')
  })

  it('adds nothing after a refusal', async () => {
    const { provider, asked } = walletWith(['0x1'], () => ({ code: 4001 }))
    await expect(switchChain(provider, chain)).rejects.toEqual({ code: 4001 })
    expect(asked).not.toContain('wallet_addEthereumChain')
  })
})
