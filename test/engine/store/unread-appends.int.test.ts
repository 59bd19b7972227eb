import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { connectEventStore } from '../../../engine/store/connection.ts'
import { until, untilItRests } from './fixtures.ts'
import { ScriptedServer, type AppendCall } from './scripted-server.ts'
import { appended } from './wire-messages.ts'
import { eventually } from '../../support/eventually.ts'

const messageBytes = 65_536
const text = JSON.stringify({ text: 'x'.repeat(messageBytes) })

const append = () => {
  const event = { id: randomUUID(), type: 'VisitNoted', text, metadata: undefined }
  return { stream: 'visit-org-1', expected: 'any', events: [event], deadline: new Date(8e15) } as const
}

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
  const send = (withinMs: number) => connection.appends.send(append(), withinMs)
  try {
    const first = send(60_000).catch(() => undefined)
    await until(() => stopped !== undefined)
    if (stopped !== undefined) await work({ server, send, stopped })
    connection.close()
    expect(await first).toBeUndefined()
  } finally {
    connection.close()
  }
}

describe('appends that their server does not read', () => {
  test('end their call when nothing answers, so no more than one call is open', async () => {
    await using server = await ScriptedServer.start({ onAppend: (_, call) => call.pause() })
    const { appends, close } = connectEventStore({ url: server.url })
    for (let round = 1; round <= 10; round += 1) {
      const tries = await Promise.allSettled(Array.from({ length: 60 }, () => appends.send(append(), 20)))
      expect(tries.map((each) => (each.status === 'rejected' ? each.reason instanceof Error : 'answered'))).toEqual(
        tries.map(() => true),
      )
    }
    await untilItRests(() => server.openAppendCalls)
    expect(server.openAppendCalls).toBeLessThanOrEqual(1)
    close()
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
      await eventually(() => send(60_000))
      expect(server.appends.length).toBeGreaterThan(1)
    })
  })
})
