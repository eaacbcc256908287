import type { ComponentChildren } from 'preact'

type Props = { readonly label: string; readonly children: ComponentChildren; readonly short?: boolean }

/** A region that scrolls by itself, also by keyboard. */
export const Scroll = ({ label, children, short = false }: Props) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reachable by keyboard
  <section class={`scroll ${short ? 'short' : ''}`} tabIndex={0} aria-label={label}>
    {children}
  </section>
)
