import { type Field, type FieldName, fieldOf } from './fields.ts'

/** What a field can be chosen from, by value, where that is known only at run time. */
export type Choices = Readonly<Partial<Record<FieldName, Readonly<Record<string, string>>>>>

type Props = {
  readonly name: FieldName
  readonly value: string
  readonly set: (value: string) => void
  readonly choices?: Readonly<Record<string, string>> | undefined
  /** What is wrong with the value; empty when it is only missing. */
  readonly problem?: string | undefined
  /** Of what an amount is, such as a symbol. */
  readonly unit?: string | undefined
  /** In place of the hint of the field. */
  readonly hint?: string | undefined
  /** Takes a whole row. */
  readonly wide?: boolean
  /** An optional field that must not be empty here. */
  readonly required?: boolean
  readonly disabled: boolean
}

/** The keyboards of phones for numbers. */
const modes: Readonly<Partial<Record<Field['kind'], 'decimal' | 'numeric'>>> = {
  ...{ amount: 'decimal', rate: 'decimal', share: 'decimal', basisPoints: 'decimal' },
  ...{ minutes: 'numeric', id: 'numeric' },
}

/** A field with its label, its unit, and a hint or what is wrong with it. */
export const FieldInput = (props: Props) => {
  const { name, value, set, choices, problem, unit, hint, wide = false, required = false, disabled } = props
  const { label, kind, optional, advanced, range, unit: after, choices: fixed, hint: usual, whenEmpty } = fieldOf(name)
  const offered = choices ?? fixed
  const id = `field-${name}`
  const text =
    problem || (hint ?? (choices === undefined ? [usual, !required && whenEmpty].filter(Boolean).join(' ') : undefined))
  const given = {
    ...{ id, name, value, disabled, 'aria-invalid': !!problem },
    ...((after || text) && {
      'aria-describedby': [after && `${id}-unit`, text && `${id}-hint`].filter(Boolean).join(' '),
    }),
  }
  return (
    <div class={`field ${problem ? 'wrong' : ''} ${wide ? 'wide' : ''}`}>
      <label for={id}>
        {label}
        {unit && ` in ${unit}`}
        {optional && !required && !advanced && <small> (optional)</small>}
      </label>
      {offered === undefined ? (
        <span class="with-unit">
          <input
            {...given}
            type={kind === 'time' ? 'datetime-local' : 'text'}
            inputMode={modes[kind] ?? 'text'}
            maxLength={kind === 'text' && range ? range[1] : 64}
            autocomplete="off"
            spellcheck={false}
            onInput={({ currentTarget }) => set(currentTarget.value)}
          />
          {after && <span id={`${id}-unit`}>{after}</span>}
        </span>
      ) : (
        <select {...given} onChange={({ currentTarget }) => set(currentTarget.value)}>
          {!(value in offered) && <option value={value}>{value === '' ? 'Choose…' : value}</option>}
          {Object.entries(offered).map(([choice, called]) => (
            <option key={choice} value={choice}>
              {called}
            </option>
          ))}
        </select>
      )}
      {text && (
        <small id={`${id}-hint`} class="hint">
          {text}
        </small>
      )}
    </div>
  )
}
