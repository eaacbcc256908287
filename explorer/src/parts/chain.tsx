import type { ComponentChildren } from 'preact'
import { useChainName } from '../api/chains.ts'

/** The name of a chain. */
export const ChainName = ({ id }: { readonly id: number }) => <span class="nowrap">{useChainName(id)}</span>

/** The column of the chain of each row. */
export const chainColumn = {
  title: 'Chain',
  cell: ({ chainId }: { readonly chainId: number }): ComponentChildren => <ChainName id={chainId} />,
}
