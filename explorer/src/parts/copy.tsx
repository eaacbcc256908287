import { useState } from 'preact/hooks'

/** Copies a text. */
export const Copy = ({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) => {
  const [state, setState] = useState(label)
  return (
    <button
      type="button"
      class="small plain"
      onClick={() =>
        navigator.clipboard.writeText(text).then(
          () => setState('Copied'),
          () => setState('Not allowed by the browser'),
        )
      }
      onBlur={() => setState(label)}
    >
      {state}
    </button>
  )
}
