import { QueryClient, QueryObserver } from '@tanstack/preact-query'
import { afterEach, expect, test } from 'vitest'
import { notUpdatedSince } from '../../explorer/src/api/freshness.ts'

const client = new QueryClient({ defaultOptions: { queries: { retry: false, networkMode: 'always' } } })
afterEach(() => client.clear())

/** A value that a page shows. Its reads fail while the service is gone. */
const show = async (name: string) => {
  let isGone = false
  const queryFn = () => (isGone ? Promise.reject(new Error('the service is gone')) : Promise.resolve(name))
  const observer = new QueryObserver(client, { queryKey: [name], queryFn })
  const close = observer.subscribe(() => {})
  await observer.refetch()
  const read = async (gone: boolean): Promise<void> => {
    isGone = gone
    await observer.refetch()
  }
  const setTime = (seconds: number): unknown => client.setQueryData([name], name, { updatedAt: seconds * 1_000 })
  return { read, setTime, close }
}

const since = (): number | null => notUpdatedSince(client.getQueryCache())

test('values are not updated since the oldest read that was followed by a failure, until the next that succeeds', async () => {
  const [first, second, other] = await Promise.all([show('first'), show('second'), show('other')])
  first.setTime(2_000)
  second.setTime(1_000)
  other.setTime(500)
  expect(since()).toBeNull()
  await first.read(true)
  expect(since()).toBe(2_000)
  await second.read(true)
  expect(since()).toBe(1_000)
  await second.read(false)
  expect(since()).toBe(2_000)
})

test('a value that no page shows any more, and one that was never read, do not count', async () => {
  const closed = await show('closed')
  await closed.read(true)
  expect(since()).not.toBeNull()
  closed.close()
  expect(since()).toBeNull()
  const queryFn = () => Promise.reject(new Error('not found'))
  const observer = new QueryObserver(client, { queryKey: ['missing'], queryFn })
  const close = observer.subscribe(() => {})
  await observer.refetch()
  expect(observer.getCurrentResult().isError).toBe(true)
  expect(since()).toBeNull()
  close()
})
