import { expect, test } from 'vitest'
import { isTaken, listening, PortTakenError, reportsTaken } from '../../src/lib/port-taken.ts'

const taken = Object.assign(new Error('listen EADDRINUSE: address already in use'), { code: 'EADDRINUSE' })

test('a taken port is reported with the variable that chooses another one', async () => {
  const listens = listening(Promise.reject(taken), 3_000, 'PORT')
  await expect(listens).rejects.toThrow(
    'port 3000 is taken: stop the program that listens on it, or choose another port with PORT=<port> (0 = any free one)',
  )
  await expect(listens).rejects.toMatchObject({ name: 'PortTakenError', cause: taken })
})

test('another error of listening is thrown as it is, and a success is none', async () => {
  const fault = Object.assign(new Error('listen EACCES'), { code: 'EACCES' })
  await expect(listening(Promise.reject(fault), 80, 'PORT')).rejects.toBe(fault)
  await expect(listening(Promise.resolve('here'), 80, 'PORT')).resolves.toBeUndefined()
  expect([isTaken(fault), isTaken(taken), isTaken('EADDRINUSE')]).toEqual([false, true, false])
})

test.each([
  [`starting\n${new PortTakenError(3_000, 'PORT').message}`, true],
  ['Error: listen EADDRINUSE 127.0.0.1:3000', true],
  ['bind: Address already in use', true],
  ['import 7 is taken: no', false],
  ['connect ECONNREFUSED', false],
])('whether the output %j reports a taken port: %s', (output, expected) => {
  expect(reportsTaken(output)).toBe(expected)
})
