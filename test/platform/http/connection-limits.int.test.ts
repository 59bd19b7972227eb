import dns from 'node:dns'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { memberOf } from '../../../platform/outbound/outside-answers.ts'
import { startApplication, type TestApplication } from './test-application.ts'

const loopback = '127.0.0.1'
let t: TestApplication
const all: Socket[] = []
afterEach(async () => {
  for (const socket of all.splice(0)) socket.destroy()
  await t.app.close()
  vi.restoreAllMocks()
})

async function listening(env: Record<string, string>): Promise<number> {
  t = await startApplication({ env })
  return Number(new URL(await t.app.listen({ port: 0, host: loopback })).port)
}

/** Resolves to the connection if the server keeps it, to undefined if it closes it. */
async function keptBy(port: number, localAddress = '127.0.0.1'): Promise<Socket | undefined> {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  socket.on('error', () => undefined)
  all.push(socket)
  socket.write('GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n')
  const isAnswered = await Promise.race([
    once(socket, 'data').then(() => true),
    once(socket, 'close').then(() => false),
  ])
  return isAnswered ? socket : undefined
}

async function keptOf(count: number, port: number, localAddress?: string): Promise<Socket[]> {
  const kept: Socket[] = []
  for (let n = 0; n < count; n += 1) {
    const socket = await keptBy(port, localAddress)
    if (socket !== undefined) kept.push(socket)
  }
  return kept
}

async function close(sockets: readonly Socket[]): Promise<void> {
  for (const socket of sockets) {
    const closed = once(socket, 'close')
    socket.destroy()
    await closed
  }
}

describe('the connections of one address', () => {
  it('are limited on loopback too, and leave room for other addresses', async () => {
    const port = await listening({ MAX_CONNECTIONS_PER_ADDRESS: '3' })
    const first = await keptOf(5, port)
    const second = await keptOf(5, port, '127.0.0.2')
    expect([first.length, second.length]).toEqual([3, 3])
    expect(t.log().match(/"reason":"MAX_CONNECTIONS_PER_ADDRESS"[^\n]*connections refused/g)).toHaveLength(1)
    await close(second)
    await expect.poll(async () => (await keptOf(1, port, '127.0.0.2')).length).toBe(1)
  })

  it('are at most 1,000 of 1,500 idle ones', async () => {
    const port = await listening({})
    let refused = 0
    // Batches below the backlog of the listening socket.
    for (let batch = 0; batch < 15; batch += 1) {
      const sockets = Array.from({ length: 100 }, () => connect(port, '127.0.0.1').on('error', () => undefined))
      for (const socket of sockets) socket.once('close', () => (refused += 1))
      await Promise.all(sockets.map((socket) => once(socket, 'connect')))
      all.push(...sockets)
    }
    await expect.poll(() => refused, { timeout: 20_000 }).toBe(500)
    await close(all.filter(({ destroyed }) => !destroyed))
    await expect.poll(async () => (await keptOf(1, port)).length).toBe(1)
  })

  it('are limited where `localhost` has two addresses: there is one listener', async () => {
    const { lookup } = dns
    const twoAddresses = [loopback, '127.0.0.2'].map((address) => ({ address, family: 4 }))
    vi.spyOn(dns, 'lookup').mockImplementation((...parameters: unknown[]): void => {
      const [, options, done] = parameters
      if (typeof done === 'function' && memberOf(options, 'all') === true) done(null, twoAddresses)
      else Reflect.apply(lookup, dns, parameters)
    })
    t = await startApplication()
    await t.app.listen({ port: 0, host: 'localhost' })
    expect(t.app.addresses()).toMatchObject([{ address: loopback }])
  })

  it('are not counted if it is a trusted proxy', async () => {
    const port = await listening({ MAX_CONNECTIONS_PER_ADDRESS: '3', TRUSTED_PROXIES: '127.0.0.2/31' })
    expect([(await keptOf(5, port, '127.0.0.3')).length, (await keptOf(5, port)).length]).toEqual([5, 3])
  })
})

describe('all connections', () => {
  it('are limited, those of trusted proxies too', async () => {
    const port = await listening({ MAX_CONNECTIONS: '4', TRUSTED_PROXIES: '127.0.0.1' })
    const kept = await keptOf(6, port)
    expect(kept).toHaveLength(4)
    expect(t.log()).toMatch(/"reason":"MAX_CONNECTIONS"[^\n]*connections refused/)
    await close(kept)
    await expect.poll(async () => (await keptOf(1, port)).length).toBe(1)
  })
})
