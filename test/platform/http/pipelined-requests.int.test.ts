import { once } from 'node:events'
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, it } from 'vitest'
import { mostPipelined, oneAtATime } from '../../../platform/http/pipelined-requests.ts'
import { startApplication } from './test-application.ts'

let server: Server
afterEach(() => server.close())

async function connectionTo(handle: RequestListener) {
  server = createServer(oneAtATime(handle)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return connect({ port, host: '127.0.0.1' }).on('error', () => undefined)
}

const requests = (count: number, last = '') =>
  Array.from({ length: count }, (_, n) => `GET /${n} HTTP/1.1\r\nhost: x\r\n${n === count - 1 ? last : ''}\r\n`).join(
    '',
  )

describe('requests that arrive together on one connection', () => {
  it('are handled one after another, with turns of other work between them', async () => {
    let turns = 0
    let isCounting = true
    const count = (): void => {
      turns += 1
      if (isCounting) setImmediate(count)
    }
    count()
    const started: Array<{ turn: number; running: number }> = []
    let running = 0
    const socket = await connectionTo((request, response) => {
      started.push({ turn: turns, running: (running += 1) })
      response.once('finish', () => (running -= 1))
      response.end(`<${request.url}>`)
    })
    socket.write(requests(50, 'connection: close\r\n'))
    const answered = await text(socket)
    isCounting = false
    expect(answered.match(/<\/\d+>/g)).toEqual(Array.from({ length: 50 }, (_, n) => `</${n}>`))
    expect(started.every(({ running: together }) => together === 1)).toBe(true)
    expect(new Set(started.map(({ turn }) => turn)).size).toBe(50)
  })

  it('are dropped with their connection beyond a limit', async () => {
    const held: ServerResponse[] = []
    const socket = await connectionTo((_, response) => void held.push(response))
    socket.write(requests(mostPipelined + 2))
    await once(socket, 'close')
    expect(held).toHaveLength(1)
  })

  it('wait while the first one is handled, up to the limit', async () => {
    const held: ServerResponse[] = []
    const socket = await connectionTo((_, response) => void (held.push(response) === 1 || response.end()))
    socket.write(requests(mostPipelined + 1, 'connection: close\r\n'))
    await expect.poll(() => held.length).toBe(1)
    held[0]?.end()
    expect((await text(socket)).match(/HTTP\/1\.1 200/g)).toHaveLength(mostPipelined + 1)
  })

  it('are limited by the platform', async () => {
    const t = await startApplication({})
    const { port } = new URL(await t.app.listen({ port: 0, host: '127.0.0.1' }))
    server = t.app.server
    const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined)
    socket.write(requests(500))
    expect((await text(socket).catch(() => '')).match(/HTTP\/1\.1 /g) ?? []).not.toHaveLength(500)
    await t.app.close()
  })
})
