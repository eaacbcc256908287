import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { useChains } from '../api/chains.ts'
import { targetOf } from '../text/search.ts'

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
        if (target !== null) navigate(target)
      }}
    >
      <input
        type="search"
        aria-label="Wallet, transaction, event number or pair"
        placeholder="Wallet, transaction, event 3 or USD/MXN"
        value={text}
        maxLength={100}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
    </form>
  )
}
