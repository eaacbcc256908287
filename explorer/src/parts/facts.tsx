import type { ComponentChildren } from 'preact'

export type Fact = readonly [name: string, value: ComponentChildren]

/** Names and values. */
export const Facts = ({ facts }: { readonly facts: readonly Fact[] }) => (
  <dl class="facts">
    {facts.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
)

type TileProps = { readonly name: string; readonly children: ComponentChildren; readonly note?: ComponentChildren }

/** One figure in large type. */
export const Tile = ({ name, children, note }: TileProps) => (
  <div class="tile">
    <span class="muted">{name}</span>
    <strong>{children}</strong>
    {note && <span class="muted">{note}</span>}
  </div>
)

export type Tone = 'good' | 'warn' | 'bad' | 'plain'

/** A state in a word and a colour. */
export const Pill = ({ tone = 'plain', children }: { readonly tone?: Tone; readonly children: ComponentChildren }) => (
  <span class={`pill ${tone}`}>{children}</span>
)
