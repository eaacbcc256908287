import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { useChains } from '../api/chains.ts'

/** What a text names: a wallet, a transaction, or text of the list of events. */
export const targetOf = (text: string, chainIds: readonly number[]): string | null => {
  const term = text.trim()
  if (/^0x[0-9a-fA-F]{40}$/.test(term)) return `/wallet/${term}`
  if (/^0x[0-9a-fA-F]{64}$/.test(term)) return `/tx/${chainIds[0]}/${term}`
  const id = /^(?:(\d+)[/ ])?#?(\d+)$/.exec(term)
  if (id !== null) return `/event/${id[1] ?? chainIds[0]}/${id[2]}`
  return term === '' ? null : `/events?pair=${encodeURIComponent(term.toUpperCase())}`
}

/** Finds a wallet, a transaction, an event or the events of a pair. */
export const Search = () => {
  const [text, setText] = useState('')
  const [, navigate] = useLocation()
  const chains = useChains()
  return (
    // biome-ignore lint/a11y/useSemanticElements: the types of Preact do not have <search>
    <form
      class="search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        const target = targetOf(
          text,
          chains.map(({ chainId }) => chainId),
        )
        if (target === null) return
        setText('')
        navigate(target)
      }}
    >
      <input
        type="search"
        aria-label="Wallet, transaction, event number or pair"
        placeholder="Wallet, transaction, event or pair"
        value={text}
        maxLength={100}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
    </form>
  )
}
