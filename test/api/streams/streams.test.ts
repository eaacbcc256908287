import type { ServerResponse } from 'node:http'
import { expect, onTestFinished, test, vi } from 'vitest'
import { FakeResponse, openFeed, settled, startAt } from './fake-feed.ts'

const useFakeTimers = (): void => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
}

test('a stream begins with its position, and then has each new item once, in order', async () => {
  const { open, commit, reads } = openFeed()
  await commit(1, 2)
  const response = await open()
  expect(response.take()).toBe('retry: 1000\nid: at-2\nevent: position\ndata:\n\n')
  await commit(3, 4)
  await commit(5)
  expect(response.take()).toBe('item: 3\n\nitem: 4\n\nitem: 5\n\n')
  expect(reads.map(({ seq }) => seq)).toEqual([2, 4])
})

test('a stream may begin with a text and an id of its own', async () => {
  const { streams, commit } = openFeed()
  await commit(1, 2, 3)
  const response = new FakeResponse()
  const start = { ...startAt(3), id: 'older', text: 'event: reset\n\n' }
  streams.open(response as unknown as ServerResponse, 'a', start, 'all')
  await settled()
  expect(response.text).toBe('retry: 1000\nid: older\nevent: position\ndata:\n\nevent: reset\n\n')
})

test('new items are read once for all streams, and each stream has those that its filter passes', async () => {
  const { open, commit, reads } = openFeed({ maxRecent: 50 })
  const [all, even, odd] = [await open(), await open(0, 'even'), await open(0, 'odd')]
  await commit(1, 2, 3)
  expect([all.items(), even.items(), odd.items()]).toEqual([[1, 2, 3], [2], [1, 3]])
  expect(reads).toEqual([{ seq: 0, filter: 'all', limit: 50 }])
})

test('new items of an open stream are reported, and a commit without any is not', async () => {
  const onItems = vi.fn()
  const { open, commit, index } = openFeed({ onItems })
  await commit(1)
  const response = await open()
  index.commit()
  await settled()
  expect(onItems).not.toHaveBeenCalled()
  await commit(2, 3)
  expect(onItems).toHaveBeenCalledOnce()
  response.destroy()
  await settled()
  await commit(4)
  expect(onItems).toHaveBeenCalledOnce()
})

test('the feed is not read without a stream, and not for a commit without a change', async () => {
  const { open, commit, index, reads } = openFeed()
  await commit(1)
  const response = await open()
  index.commit()
  await settled()
  expect(reads).toEqual([])
  response.destroy()
  await settled()
  await commit(2)
  expect(reads).toEqual([])
})

test('a stream that begins in the past reads pages until it reaches the present', async () => {
  const { open, commit, reads } = openFeed({ pageSize: 2 })
  await commit(1, 2, 3, 4, 5)
  await open()
  const response = await open(0, 'odd')
  expect(response.items()).toEqual([1, 3, 5])
  expect(reads).toEqual([
    { seq: 0, filter: 'odd', limit: 2 },
    { seq: 3, filter: 'odd', limit: 2 },
  ])
  await commit(6, 7)
  expect(response.items()).toEqual([1, 3, 5, 7])
})

test('a stream whose filter passes no item at the end of its past reads it once', async () => {
  const { open, commit, reads, state } = openFeed()
  await commit(1, 2, 3, 4)
  await open()
  state.before = settled
  const response = await open(0, 'odd')
  await settled()
  response.destroy()
  expect([response.items(), reads.length]).toEqual([[1, 3], 1])
})

test('a stream that begins at an item in memory reads nothing', async () => {
  const { open, commit, reads } = openFeed()
  const first = await open()
  await commit(1, 2, 3)
  reads.length = 0
  const response = await open(1)
  expect([response.items(), first.items(), reads]).toEqual([[2, 3], [1, 2, 3], []])
})

test('items beyond those in memory are read again by a stream that lacks them', async () => {
  const { open, commit, reads } = openFeed({ maxRecent: 2 })
  await open()
  await commit(1, 2, 3)
  reads.length = 0
  expect((await open(1)).items()).toEqual([2, 3])
  expect(reads).toEqual([])
  expect((await open(0)).items()).toEqual([1, 2, 3])
  expect(reads).toHaveLength(1)
})

test('a stream behind the last item that left the memory has it from a read', async () => {
  const { open, commit } = openFeed({ maxRecent: 2 })
  await open()
  await commit(1, 2, 3, 4)
  expect((await open(1)).items()).toEqual([2, 3, 4])
})

test('a position that moves without an item is read once', async () => {
  const { open, index, reads } = openFeed()
  await open()
  for (const _ of [1, 2]) {
    index.change(5)
    index.commit()
    await settled()
  }
  expect(reads).toHaveLength(1)
})

test('more items than are kept in memory reach an open stream without a gap', async () => {
  const { open, commit } = openFeed({ maxRecent: 2, pageSize: 3 })
  const response = await open()
  await commit(1, 2, 3, 4, 5, 6, 7)
  expect(response.items()).toEqual([1, 2, 3, 4, 5, 6, 7])
})

test('an item that arrives while a stream catches up is sent once', async () => {
  const { open, commit, state } = openFeed({ pageSize: 2 })
  await commit(1, 2, 3, 4)
  await open()
  let go = (): void => {}
  state.before = () =>
    new Promise((resolve) => {
      go = resolve
    })
  const response = await open(0)
  state.before = async () => {}
  await commit(5)
  expect(response.items()).toEqual([])
  go()
  await settled()
  expect(response.items()).toEqual([1, 2, 3, 4, 5])
})

test('an item that arrives while the last page of a stream is read is sent after it', async () => {
  const { open, commit, state } = openFeed()
  await commit(1, 2)
  await open()
  let go = (): void => {}
  state.before = () =>
    new Promise((resolve) => {
      go = resolve
    })
  const response = await open(0)
  state.before = async () => {}
  await commit(3)
  go()
  await settled()
  expect(response.items()).toEqual([1, 2, 3])
})

test('the next page of a slow client is read once its buffer is empty', async () => {
  const feed = openFeed({ pageSize: 2 })
  await feed.commit(1, 2, 3)
  const response = new FakeResponse()
  response.writableNeedDrain = true
  feed.streams.open(response as unknown as ServerResponse, 'a', startAt(0), 'all')
  await settled()
  expect([response.items(), feed.reads.length]).toEqual([[1, 2], 1])
  response.writableNeedDrain = false
  response.emit('drain')
  await settled()
  expect([response.items(), feed.reads.length]).toEqual([[1, 2, 3], 2])
  expect([response.listenerCount('drain'), response.destroyed]).toEqual([0, false])
})

test('an item that arrives while a client empties its buffer is sent once the buffer is empty', async () => {
  const { streams, commit } = openFeed()
  await commit(1, 2)
  const response = new FakeResponse()
  response.writableNeedDrain = true
  streams.open(response as unknown as ServerResponse, 'a', startAt(0), 'all')
  await settled()
  await commit(3)
  expect(response.items()).toEqual([1, 2])
  response.writableNeedDrain = false
  response.emit('drain')
  await settled()
  expect(response.items()).toEqual([1, 2, 3])
})

test('a client that leaves while it catches up is read no further page', async () => {
  const { streams, commit, reads } = openFeed({ pageSize: 1 })
  await commit(1, 2, 3)
  const response = new FakeResponse()
  response.writableNeedDrain = true
  streams.open(response as unknown as ServerResponse, 'a', startAt(0), 'all')
  await settled()
  response.destroy()
  await settled()
  expect([reads.length, streams.counts()]).toEqual([1, { open: 0, dropped: 0 }])
  // Nothing waits for its buffer any longer.
  expect(response.listenerCount('drain')).toBe(0)
})

test('a client that leaves while its page waits for its turn is read nothing', async () => {
  const { open, commit, reads, state, streams } = openFeed()
  await commit(1, 2)
  let go = (): void => {}
  state.before = () =>
    new Promise((resolve) => {
      go = resolve
    })
  // One address has one of the two turns.
  const [first, second] = [await open(0), await open(0)]
  expect(reads).toHaveLength(1)
  second.destroy()
  go()
  await settled()
  expect([first.items(), second.items(), reads.length, streams.counts().open]).toEqual([[1, 2], [], 1, 1])
})

test('a client that left before its first page is read nothing', async () => {
  const { streams, commit, reads } = openFeed()
  await commit(1, 2)
  const response = new FakeResponse()
  response.destroyed = true
  streams.open(response as unknown as ServerResponse, 'a', startAt(0), 'all')
  const pipelined = new FakeResponse()
  pipelined.req.socket.destroyed = true
  streams.open(pipelined as unknown as ServerResponse, 'a', startAt(0), 'all')
  await settled()
  expect([response.text, pipelined.text, reads, streams.counts().open]).toEqual(['', '', [], 0])
})

test.each([
  ['its response closes', (response: FakeResponse) => void response.emit('close')],
  ['its connection closes', (response: FakeResponse) => void response.req.socket.emit('close')],
  ['its response fails', (response: FakeResponse) => void response.emit('error', new Error('EPIPE'))],
])('a stream is open until %s', async (_, end) => {
  const { open, commit, streams } = openFeed()
  const response = await open()
  expect(streams.counts()).toEqual({ open: 1, dropped: 0 })
  end(response)
  await settled()
  expect(streams.counts()).toEqual({ open: 0, dropped: 0 })
  await commit(1)
  expect(response.items()).toEqual([])
})

test('a response that fails is destroyed, and may fail again', async () => {
  const { open } = openFeed()
  const response = await open()
  for (const _ of [1, 2]) {
    response.emit('error', new Error('EPIPE'))
    await settled()
  }
  expect(response.destroyed).toBe(true)
})

test.each([
  ['exactly as much as may be buffered', 100, false],
  ['more than may be buffered', 101, true],
])('a client with %s in its buffer is dropped or not', async (_, bytes, isDropped) => {
  useFakeTimers()
  const { open, commit, streams } = openFeed({ maxBufferedBytes: 100 })
  const response = await open()
  response.take()
  response.writableLength = bytes
  await commit(1)
  expect(streams.counts()).toEqual({ open: isDropped ? 0 : 1, dropped: isDropped ? 1 : 0 })
  const notice = 'event: dropped\ndata: {"reason":"too slow"}\n\n'
  expect([response.text, response.writableEnded]).toEqual([isDropped ? notice : 'item: 1\n\n', isDropped])
  if (!isDropped) return
  vi.advanceTimersByTime(9_999)
  expect(response.destroyed).toBe(false)
  vi.advanceTimersByTime(1)
  expect(response.destroyed).toBe(true)
})

test('a client whose filter passes nothing new is not judged', async () => {
  const { open, commit, streams } = openFeed({ maxBufferedBytes: 100 })
  const response = await open(0, 'even')
  response.writableLength = 101
  await commit(1)
  expect(streams.counts()).toEqual({ open: 1, dropped: 0 })
})

test('a stream whose past cannot be read is dropped, and others go on', async () => {
  const { open, commit, streams, state } = openFeed()
  await commit(1)
  const other = await open()
  state.before = () => Promise.reject(new Error('connection refused'))
  const response = await open(0)
  expect(response.text).toContain('event: dropped\ndata: {"reason":"the database is out of reach"}\n\n')
  expect(streams.counts()).toEqual({ open: 1, dropped: 1 })
  state.before = async () => {}
  await commit(2)
  expect([other.items(), response.items()]).toEqual([[2], []])
})

test('new items that cannot be read are read at the next commit, and no stream is dropped', async () => {
  const { open, commit, streams, state, index } = openFeed()
  const response = await open()
  state.before = () => Promise.reject(new Error('connection refused'))
  await commit(1)
  expect([response.items(), streams.counts()]).toEqual([[], { open: 1, dropped: 0 }])
  state.before = async () => {}
  index.commit()
  await settled()
  expect(response.items()).toEqual([1])
})

test('commits during a read cause no second read at once', async () => {
  const { open, commit, state, reads } = openFeed()
  const response = await open()
  let go = (): void => {}
  state.before = () =>
    new Promise((resolve) => {
      go = resolve
    })
  await commit(1)
  await commit(2)
  expect(reads).toHaveLength(1)
  state.before = async () => {}
  go()
  await settled()
  await commit(3)
  expect(response.items()).toEqual([1, 2, 3])
  expect(reads).toHaveLength(2)
})

test('the first stream after a pause begins at the present, without items of before', async () => {
  const { open, commit } = openFeed()
  const first = await open()
  await commit(1)
  first.destroy()
  await settled()
  await commit(2)
  const second = await open()
  await commit(3)
  expect(second.items()).toEqual([3])
  expect((await open(0)).items()).toEqual([1, 2, 3])
})

test('an item that was read before its commit was noticed is sent once to the first stream after a pause', async () => {
  const { open, append, index } = openFeed()
  const first = await open()
  append(1, 2)
  index.change(1)
  index.commit()
  await settled()
  expect(first.items()).toEqual([1, 2])
  first.destroy()
  await settled()
  const second = await open()
  index.change(2)
  index.commit()
  await settled()
  expect(second.items()).toEqual([2])
})

test('a stream that begins at an item that is not read yet has the items after it only', async () => {
  const { open, commit, append } = openFeed()
  const first = await open()
  append(1, 2)
  const second = await open(2)
  await commit(3)
  expect([first.items(), second.items()]).toEqual([[1, 2, 3], [3]])
})

test('every open stream gets a comment every 15 seconds', async () => {
  useFakeTimers()
  const { open, streams } = openFeed()
  const [first, second] = [await open(), await open()]
  first.take()
  vi.advanceTimersByTime(14_999)
  expect(first.text).toBe('')
  vi.advanceTimersByTime(1)
  expect([first.take(), second.text.endsWith('\n\n: beat\n\n')]).toEqual([': beat\n\n', true])
  second.destroy()
  await settled()
  vi.advanceTimersByTime(15_000)
  expect(first.take()).toBe(': beat\n\n')
  streams.close()
  first.take()
  vi.advanceTimersByTime(60_000)
  expect(first.text).toBe('')
  expect(vi.getTimerCount()).toBe(0)
})

test('when the service stops, every stream ends and asks its client to reconnect at a time of its own', async () => {
  useFakeTimers()
  const { open, streams, index } = openFeed()
  const responses = await Promise.all(Array.from({ length: 20 }, () => open()))
  for (const response of responses) response.take()
  streams.close()
  const retries = responses.map(({ text }) =>
    Number(/^retry: (\d+)\nevent: end\ndata: \{"reason":"the service restarts"\}\n\n$/.exec(text)?.[1]),
  )
  for (const retry of retries) expect(retry).toBeGreaterThanOrEqual(1_000)
  for (const retry of retries) expect(retry).toBeLessThan(5_000)
  expect(new Set(retries).size).toBeGreaterThan(5)
  expect([streams.counts(), index.listeners()]).toEqual([{ open: 0, dropped: 0 }, 0])
  vi.advanceTimersByTime(999)
  expect(responses.some(({ destroyed }) => destroyed)).toBe(false)
  vi.advanceTimersByTime(1)
  expect(responses.every(({ destroyed }) => destroyed)).toBe(true)
})

test('a stream that is opened while the service stops ends at once, and no place is given', async () => {
  const { open, streams } = openFeed()
  streams.close()
  const response = await open()
  expect(response.text).toMatch(/^retry: 1000\nid: at-0\nevent: position\ndata:\n\nretry: \d+\nevent: end\n/)
  expect(() => streams.reserve('a')).toThrowError(
    expect.objectContaining({ code: 'service_unavailable', message: 'the service restarts', retryAfter: 5 }),
  )
})
