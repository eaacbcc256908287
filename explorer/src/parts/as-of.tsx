import type { Moment } from '../text/moment.ts'
import { dayOf } from '../text/moment.ts'

type Props = { readonly moment: Moment | null; readonly set: (at: string | null) => void }

/** A day of the past, at whose start the page is shown, or now. */
export const AsOf = ({ moment, set }: Props) => (
  <>
    <label>
      As of the start of (UTC)
      <input
        type="date"
        value={moment === null ? '' : dayOf(moment.seconds)}
        onChange={({ currentTarget }) => set(currentTarget.value || null)}
      />
    </label>
    {moment !== null && (
      <button type="button" class="plain" onClick={() => set(null)}>
        Now
      </button>
    )}
  </>
)
