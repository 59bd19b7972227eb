import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import streams, { type ReadResp } from '@eventstore/db-client/generated/streams_pb.js'
import { itemOf, Marker, ReadAhead } from '../../../engine/store/subscription-feed.ts'
import { caughtUp, checkpoint, confirmation, fellBehind, wireEvent } from './wire-messages.ts'
import { eventually } from '../../support/eventually.ts'

const item = (message: ReadResp) => itemOf(Buffer.from(message.serializeBinary()))

describe('messages of a subscription', () => {
  test('an event is found', () => {
    const event = {
      id: '00000000-0000-4000-8000-000000000001',
      stream: 'visit-org-1',
      type: 'VisitNoted',
      revision: 3,
      position: 4096,
      data: '{}',
      metadata: '{}',
    }
    expect(item(wireEvent(event))).toMatchObject({ type: 'VisitNoted', stream: 'visit-org-1' })
  })

  test('all markers between events are recognised, with positions of any size', () => {
    expect(item(confirmation())).toEqual(new Marker('confirmed'))
    expect(item(caughtUp())).toEqual(new Marker('caught-up'))
    expect(item(fellBehind())).toEqual(new Marker('fell-behind'))
    for (const place of [1, 300, 2 ** 31, Number.MAX_SAFE_INTEGER]) {
      expect(item(checkpoint(place))).toEqual(
        new Marker('checkpoint', { commit: BigInt(place), prepare: BigInt(place) }),
      )
    }
  })

  test('messages without content are skipped', () => {
    expect([item(new streams.ReadResp()), itemOf(Buffer.from([0x7a, 0]))]).toEqual([undefined, undefined])
  })

  test('few large messages wait here, the others on the server', async () => {
    const [megabyte, sent] = [1024 * 1024, 40]
    let given = 0
    const call = new Readable({
      objectMode: true,
      highWaterMark: 1,
      read() {
        given += 1
        this.push(given <= sent ? Buffer.alloc(megabyte) : null)
      },
    })
    const ahead = new ReadAhead(call)
    await eventually(() => expect(call.isPaused()).toBe(true))
    expect(ahead.readableLength).toBe(8)
    let taken = 0
    await eventually(() => {
      while (ahead.read() !== null) taken += 1
      expect(taken).toBe(sent)
    })
  })
})
