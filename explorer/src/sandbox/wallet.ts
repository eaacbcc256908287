/** What the wallet is now: an address and a chain. */
export type Choice = { readonly account: string; readonly chainId: number }

type Request = { readonly method: string; readonly params?: unknown }
type Listener = (value: unknown) => void

/** A JSON-RPC response of a node. */
type NodeAnswer = {
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

const hex = (chainId: number): string => `0x${chainId.toString(16)}`

/** An error as EIP-1193 has it. */
const fault = (code: number, message: string, data?: unknown): Error =>
  Object.assign(new Error(message), { code, data })

/**
 * A wallet whose keys are in the nodes of the sandbox, as an EIP-1193 provider. It agrees to everything.
 *
 * @example const { provider, chooseAccount } = createWallet({ account, chainId: 8453 }, [8453, 56], callNode)
 */
export const createWallet = (
  first: Choice,
  chainIds: readonly number[],
  callNode: (chainId: number, method: string, params: unknown) => Promise<unknown>,
) => {
  let choice = first
  const listeners = new Map<string, Set<Listener>>()
  const emit = (event: string, value: unknown): void => {
    for (const listener of listeners.get(event) ?? []) listener(value)
  }

  /** Changes the account and notifies the page. */
  const chooseAccount = (account: string): void => {
    if (account === choice.account) return
    choice = { ...choice, account }
    emit('accountsChanged', [account])
  }

  const switchChain = (params: unknown): null => {
    const [{ chainId } = { chainId: undefined }] = (params ?? []) as { readonly chainId?: unknown }[]
    const id = Number(chainId)
    if (!chainIds.includes(id)) throw fault(4902, `the sandbox has no chain ${String(chainId)}`)
    if (id !== choice.chainId) {
      choice = { ...choice, chainId: id }
      emit('chainChanged', hex(id))
    }
    return null
  }

  const own: Readonly<Record<string, (params: unknown) => unknown>> = {
    eth_accounts: () => [choice.account],
    eth_requestAccounts: () => [choice.account],
    eth_chainId: () => hex(choice.chainId),
    wallet_switchEthereumChain: switchChain,
  }

  const request = async ({ method, params = [] }: Request): Promise<unknown> => {
    const answer = own[method]
    if (answer !== undefined) return answer(params)
    const { result, error } = (await callNode(choice.chainId, method, params).catch((cause: unknown) => {
      // Disconnected.
      throw fault(4900, cause instanceof Error ? cause.message : String(cause))
    })) as NodeAnswer
    if (error !== undefined) throw fault(error.code, error.message, error.data)
    return result
  }

  const on = (event: string, listener: Listener): void => {
    listeners.set(event, (listeners.get(event) ?? new Set()).add(listener))
  }
  const removeListener = (event: string, listener: Listener): void => {
    listeners.get(event)?.delete(listener)
  }
  return { provider: { request, on, removeListener }, chooseAccount }
}

export type Wallet = ReturnType<typeof createWallet>
