const MINUTE = 60
const HOUR = 3_600
const DAY = 86_400

const date = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' })
const clock = new Intl.DateTimeFormat('en-GB', {
  ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', timeZone: 'UTC', hourCycle: 'h23' },
})

/** The last second that has a date: a chain may name a later one. */
const LAST_SECOND = 8_640_000_000_000

/** Unix seconds as a date. */
export const dateAt = (seconds: number): Date => new Date(Math.min(seconds, LAST_SECOND) * 1_000)

/** Unix seconds as a time of day: `14:05:20`. */
export const clockText = (seconds: number): string => clock.format(dateAt(seconds))

const minute = new Intl.DateTimeFormat('en-GB', {
  ...{ day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit', timeZone: 'UTC' },
  hourCycle: 'h23',
})

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })

/** Unix seconds as a day without a year: `3 Mar`. */
export const dayText = (seconds: number): string => day.format(dateAt(seconds))

/** Unix seconds as a day: `3 Mar 2027`. */
export const dateText = (seconds: number): string => date.format(dateAt(seconds))

/** A date YYYY-MM-DD as a day: `3 Mar 2027`. */
export const dayOf = (text: string): string => dateText(Date.parse(text) / 1_000)

const month = new Intl.DateTimeFormat('en-GB', { month: 'short', year: 'numeric', timeZone: 'UTC' })

/** A date YYYY-MM-DD as its month: `Mar 2027`. */
export const monthText = (text: string): string => month.format(Date.parse(text))

/** Unix seconds as a minute of UTC: `3 Mar 2027, 14:05 UTC`. */
export const timeText = (seconds: number): string => `${minute.format(dateAt(seconds))} UTC`

const count = (value: number, unit: string): string => `${value} ${unit}${value === 1 ? '' : 's'}`

/** A duration in its largest unit: `3 days`. */
export const durationText = (seconds: number): string => {
  if (seconds < MINUTE) return count(Math.max(0, Math.floor(seconds)), 'second')
  if (seconds < HOUR) return count(Math.floor(seconds / MINUTE), 'minute')
  if (seconds < 2 * DAY) return count(Math.floor(seconds / HOUR), 'hour')
  return count(Math.floor(seconds / DAY), 'day')
}

/** A time as seen from now: `3 days ago`, `in 5 hours`. */
export const relativeText = (seconds: number, now = Date.now() / 1_000): string =>
  seconds <= now ? `${durationText(now - seconds)} ago` : `in ${durationText(seconds - now)}`
