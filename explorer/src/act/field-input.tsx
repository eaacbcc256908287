import { type FieldName, fieldOf } from './fields.ts'

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
  /** An optional field that must not be empty here. */
  readonly required?: boolean
  readonly disabled: boolean
}

/** A field with its label, its unit, and a hint or what is wrong with it. */
export const FieldInput = ({ name, value, set, choices, problem, unit, required = false, disabled }: Props) => {
  const { label, kind, hint, without, optional, range, choices: fixed } = fieldOf(name)
  const offered = choices ?? fixed
  const id = `field-${name}`
  const help = without && !required ? `${hint} ${without}` : hint
  const text = problem || (choices === undefined ? help : undefined)
  const given = {
    ...{ id, name, value, disabled, 'aria-invalid': !!problem, ...(text && { 'aria-describedby': `${id}-hint` }) },
  }
  return (
    <div class={`field ${problem ? 'wrong' : ''}`}>
      <label for={id}>
        {label}
        {unit && ` in ${unit}`}
        {optional && !required && <small> (optional)</small>}
      </label>
      {offered === undefined ? (
        <input
          {...given}
          type={kind === 'time' ? 'datetime-local' : 'text'}
          inputMode={kind === 'amount' || kind === 'rate' || kind === 'share' ? 'decimal' : 'text'}
          maxLength={kind === 'text' && range ? range[1] : 64}
          autocomplete="off"
          spellcheck={false}
          onInput={({ currentTarget }) => set(currentTarget.value)}
        />
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
