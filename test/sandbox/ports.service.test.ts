import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, test, vi } from 'vitest'
import { claimPorts, freePort, onFreePort } from '../../src/sandbox/parts/ports.ts'

describe('a program that cannot choose its port', () => {
  const ports: number[] = []
  const start = (failures: number, message: string) => {
    ports.length = 0
    return onFreePort(async (port) => {
      ports.push(port)
      if (ports.length <= failures) throw new Error(message)
      return `on ${port}`
    })
  }

  test.each(['could not bind IPv4 address "127.0.0.1": Address already in use', 'listen EADDRINUSE: 127.0.0.1:20001'])(
    'is started on another one while others take it: %s',
    async (message) => {
      expect(await start(4, message)).toBe(`on ${ports.at(-1)}`)
      expect(ports).toHaveLength(5)
      await expect(start(5, message)).rejects.toThrow(message)
      expect(ports).toHaveLength(5)
    },
  )

  test('is not started again after any other fault', async () => {
    await expect(start(1, 'the disk is full')).rejects.toThrow('the disk is full')
    expect(ports).toHaveLength(1)
  })
})

test('0 requests a free port, all ports differ, and each can be used afterwards', async () => {
  const given = await freePort()
  const ports = await claimPorts([
    { variable: 'A', port: 0 },
    { variable: 'B', port: given },
    { variable: 'C', port: 0 },
  ])
  expect(ports[1]).toBe(given)
  expect(new Set(ports).size).toBe(3)
  for (const port of ports) {
    const server = createServer().listen(port, '127.0.0.1')
    await once(server, 'listening')
    server.close()
  }
})

test('a free port is never one of the given ports, even if chance draws it first', async () => {
  const given = await freePort()
  vi.spyOn(Math, 'random').mockReturnValueOnce((given - 20_000 + 0.5) / 12_000)
  const ports = await claimPorts([
    { variable: 'A', port: 0 },
    { variable: 'B', port: given },
  ])
  vi.restoreAllMocks()
  expect(ports).toEqual([expect.any(Number), given])
  expect(ports[0]).not.toBe(given)
})

test('a port in use is an error that names its variable, and the other ports are released', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const free = await freePort()
  const wanted = [
    { variable: 'PORT', port: free },
    { variable: 'SANDBOX_RPC_PORT_56', port },
  ]
  await expect(claimPorts(wanted)).rejects.toThrow(
    `port ${port} is taken: stop the program that listens on it, or choose another port with SANDBOX_RPC_PORT_56=<port> (0 = any free one)`,
  )
  taken.close()
  await once(taken, 'close')
  expect(await claimPorts(wanted)).toEqual([free, port])
})

test('two variables with the same port are an error that names both', async () => {
  const wanted = [
    { variable: 'PORT', port: 8545, host: '0.0.0.0' },
    { variable: 'SANDBOX_RPC_PORT_8453', port: 8545 },
  ]
  await expect(claimPorts(wanted)).rejects.toThrow(
    'PORT and SANDBOX_RPC_PORT_8453 are both 8545: set two different ports',
  )
})
