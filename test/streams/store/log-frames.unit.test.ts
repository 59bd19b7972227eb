import type { ReadResp } from '@eventstore/db-client/generated/streams_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import { assert, nat, property, string } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { frameOf } from '../../../streams/store/log-frames.ts'
import { WireReader } from '../../../streams/store/wire-reader.ts'
import { caughtUp, checkpoint, confirmation, wireEvent } from './wire-messages.ts'

const id = '00000000-0000-4000-8000-000000000001'
const stored = { id, stream: 'visit-org-1', type: 'VisitNoted', revision: 3, position: 4096, data: '{"room":1}', metadata: '{"commandId":"c"}' }

const bytesOf = (message: ReadResp): Buffer => Buffer.from(message.serializeBinary())

function frame(message: ReadResp) {
  const found = frameOf(bytesOf(message))
  if (found === undefined) throw new Error('no event in the message')
  return found
}

describe('events in the bytes that a server sends', () => {
  test('an event comes out as it was put in', () => {
    const found = frame(wireEvent(stored))

    expect([found.type, found.stream, found.position]).toEqual(['VisitNoted', 'visit-org-1', { commit: 4096n, prepare: 4096n }])
    expect(found.open()).toEqual({
      id,
      type: 'VisitNoted',
      streamId: 'visit-org-1',
      revision: 3n,
      position: { commit: 4096n, prepare: 4096n },
      created: new Date(1_700_000_000_000),
      isJson: true,
      data: { room: 1 },
      dataText: '{"room":1}',
      metadata: { commandId: 'c' },
    })
  })

  test('whatever its text is, it is what was written', () => {
    const text = string({ unit: 'binary', minLength: 1 }).map((value) => value.toWellFormed())
    assert(
      property(text, text, text, nat(), (type, stream, note, revision) => {
        const data = JSON.stringify({ note })
        const event = frame(wireEvent({ ...stored, type, stream, data, revision })).open()
        expect(event).toMatchObject({ type, streamId: stream, dataText: data, data: { note }, revision: BigInt(revision) })
      }),
    )
  })

  test.each(['9007199254740991', '9007199254740993', '18446744073709551615', '562949953421311', '562949953421312'])('no digit of the position %s is lost', (digits) => {
    const message = wireEvent(stored)
    message.getEvent()?.getEvent()?.setCommitPosition(digits)
    const found = frame(message)
    const upTo = (commit: bigint, prepare: bigint): boolean => found.isUpTo({ commit, prepare })

    expect(found.position).toEqual({ commit: BigInt(digits), prepare: 4096n })
    expect([upTo(BigInt(digits), 4096n), upTo(BigInt(digits) + 1n, 0n), upTo(BigInt(digits), 4095n), upTo(BigInt(digits) - 1n, 9999n)]).toEqual([true, true, false, false])
  })

  test('data that is no JSON, and metadata that is none, are told as such', () => {
    const broken = wireEvent({ ...stored, data: '{"room":', metadata: 'nothing' })
    expect(frame(broken).open()).toMatchObject({ isJson: true, data: undefined, metadata: undefined })

    const binary = wireEvent(stored)
    binary.getEvent()?.getEvent()?.getMetadataMap().set('content-type', 'application/octet-stream')
    expect(frame(binary).open()).toMatchObject({ isJson: false, data: undefined })
  })

  test('members that a later server adds are passed over', () => {
    const before = Buffer.from([0xc8, 0x01, 0x96, 0x01, 0xcd, 0x01, 1, 2, 3, 4, 0xd1, 0x01, 1, 2, 3, 4, 5, 6, 7, 8, 0xda, 0x01, 2, 9, 9])
    expect(frameOf(Buffer.concat([before, bytesOf(wireEvent(stored))]))?.type).toBe('VisitNoted')
  })

  test('what is no event is none', () => {
    for (const message of [confirmation(), caughtUp(), checkpoint(7), new streams.ReadResp()]) expect(frameOf(bytesOf(message))).toBeUndefined()
  })

  test('a message that is cut off is refused', () => {
    const whole = bytesOf(wireEvent(stored))
    for (let length = 1; length < whole.length; length += 1) {
      expect(() => frameOf(whole.subarray(0, length))).toThrow('cut off')
    }
    expect(() => new WireReader(Buffer.alloc(11, 0xff)).number()).toThrow('does not end')
  })
})
