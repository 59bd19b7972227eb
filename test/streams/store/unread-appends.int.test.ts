import { randomUUID } from 'node:crypto'
import { describe, expect, test, vi } from 'vitest'
import { connectEventStore } from '../../../streams/store/connection.ts'
import { until, untilItRests } from './fixtures.ts'
import { ScriptedServer, type AppendCall } from './scripted-server.ts'
import { appended } from './wire-messages.ts'

const messageBytes = 65_536
const text = JSON.stringify({ text: 'x'.repeat(messageBytes) })

/** Appends to a server that reads the first message, answers nothing, and stops reading until it is resumed. */
async function withUnread(
  work: (world: {
    readonly server: ScriptedServer
    readonly send: (withinMs: number) => Promise<unknown>
    readonly stopped: AppendCall
  }) => Promise<void>,
): Promise<void> {
  let stopped: AppendCall | undefined
  await using server = await ScriptedServer.start({
    onAppend: (request, call, number) => {
      if (number === 1) stopped = call.pause()
      else call.write(appended(request, 0, 10))
    },
  })
  const connection = connectEventStore({ url: server.url })
  const send = (withinMs: number) => {
    const event = { id: randomUUID(), type: 'VisitNoted', text, metadata: undefined }
    return connection.appends.send(
      { stream: 'visit-org-1', expected: 'any', events: [event], deadline: new Date(8e15) },
      withinMs,
    )
  }
  try {
    const first = send(60_000).catch(() => undefined)
    await until(() => stopped !== undefined)
    if (stopped !== undefined) await work({ server, send, stopped })
    await connection.dispose()
    expect(await first).toBeUndefined()
  } finally {
    await connection.dispose()
  }
}

describe('appends that their server does not read', () => {
  test('are written up to a limit, however often they are tried', async () => {
    await withUnread(async ({ server, send, stopped }) => {
      for (let round = 1; round <= 10; round += 1) {
        const tries = await Promise.allSettled(Array.from({ length: 60 }, () => send(20)))
        expect(tries.map((each) => (each.status === 'rejected' ? String(each.reason) : 'answered'))).toEqual(
          tries.map(() => 'Error: no answer in time'),
        )
      }
      const last = send(60_000)
      stopped.resume()
      await last
      // Of 601: the channel keeps 1 MiB, the call keeps 16 messages, and the sockets and the server's side keep the
      // rest.
      expect(server.appends.length).toBeLessThan(1_048_576 / messageBytes + 16 + 10)
    })
  })

  test('are written once it reads again', async () => {
    await withUnread(async ({ server, send, stopped }) => {
      const sending = Array.from({ length: 100 }, () => send(60_000))
      stopped.resume()
      expect(await Promise.all(sending)).toHaveLength(100)
      expect(new Set(server.appends.map(({ ids }) => ids.join())).size).toBe(101)
    })
  })

  test('end with their call, which accepts no more messages', async () => {
    await withUnread(async ({ server, send, stopped }) => {
      const sending = Promise.allSettled(Array.from({ length: 100 }, () => send(60_000)))
      await untilItRests(() => server.appends.length)
      stopped.end()
      expect((await sending).map(({ status }) => status)).not.toContain('fulfilled')
      await vi.waitFor(() => send(60_000), { timeout: 20_000 })
      expect(server.appends.length).toBeGreaterThan(1)
    })
  })
})
