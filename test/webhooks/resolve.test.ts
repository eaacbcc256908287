import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createResolve } from '../../src/webhooks/resolve.ts'

/* Names are resolved by a name server of the test, which has addresses of each family by the first label of a name. */

const A = 1
const AAAA = 28
const addresses = { [A]: Buffer.from([192, 0, 2, 7]), [AAAA]: Buffer.from(`20010db8${'0'.repeat(22)}09`, 'hex') }
const families: Readonly<Record<string, readonly number[]>> = { both: [A, AAAA], old: [A], new: [AAAA], none: [] }

let server: Socket
let asked = 0
beforeAll(async () => {
  server = createSocket('udp4')
  server.on('message', (query, { port, address }) => {
    asked += 1
    const label = query.toString('latin1', 13, 13 + query.readUInt8(12))
    const type = query.readUInt16BE(query.indexOf(0, 12) + 1)
    const question = query.subarray(12, query.indexOf(0, 12) + 5)
    const data = families[label]?.includes(type) ? addresses[type as typeof A] : undefined
    const header = Buffer.alloc(12)
    query.copy(header, 0, 0, 2)
    // A response that is recursive, without an error, with one question and at most one answer.
    header.writeUInt16BE(0x8180, 2)
    header.writeUInt16BE(1, 4)
    header.writeUInt16BE(data === undefined ? 0 : 1, 6)
    const record = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, data?.length ?? 0])
    server.send(
      Buffer.concat(data === undefined ? [header, question] : [header, question, record, data]),
      port,
      address,
    )
  })
  server.bind(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(() => server?.close())

const v4 = { address: '192.0.2.7', family: 4 }
const v6 = { address: '2001:db8::9', family: 6 }

const resolve = (name: string) => createResolve([`127.0.0.1:${server.address().port}`])(name)

test.each([
  ['both', [v4, v6]],
  ['old', [v4]],
  ['new', [v6]],
])('a name with addresses of %s families', async (label, expected) => {
  expect(await resolve(`${label}.example.com`)).toEqual(expected)
})

test('a name without an address is an error of the name server', async () => {
  await expect(resolve('none.example.com')).rejects.toMatchObject({ code: 'ENODATA' })
})

test('localhost is resolved without a name server', async () => {
  asked = 0
  const found = await resolve('localhost')
  expect(found.map(({ address }) => address)).toEqual(expect.arrayContaining([expect.stringMatching(/^127\.|^::1$/)]))
  expect(asked).toBe(0)
})
