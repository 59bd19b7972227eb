import type { ReadResp } from '@eventstore/db-client/generated/streams_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import { convertGrpcRecord } from '@eventstore/db-client/dist/utils/convertGrpcEvent.js'
import { assert, nat, property, string } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { frameOf } from '../../../engine/store/log-frames.ts'
import { WireReader } from '../../../engine/store/wire-reader.ts'
import { caughtUp, checkpoint, confirmation, wireEvent } from './wire-messages.ts'

const id = '00000000-0000-4000-8000-000000000001'
const stored = {
  id,
  stream: 'visit-org-1',
  type: 'VisitNoted',
  revision: 3,
  position: 4096,
  data: '{"room":1}',
  metadata: '{"commandId":"c"}',
}

const bytesOf = (message: ReadResp): Buffer => Buffer.from(message.serializeBinary())

function frame(message: ReadResp) {
  const found = frameOf(bytesOf(message))
  if (found === undefined) throw new Error('no event in the message')
  return found
}

function recordedIn(message: ReadResp) {
  const recorded = message.getEvent()?.getEvent()
  if (recorded === undefined) throw new Error('no event in the message')
  return recorded
}

function entriesOf(message: ReadResp): (readonly [string, string])[] {
  const entries: (readonly [string, string])[] = []
  recordedIn(message)
    .getMetadataMap()
    .forEach((value, key) => entries.push([key, value]))
  return entries
}

describe('events in the bytes of a server', () => {
  test('an event is decoded unchanged', () => {
    const found = frame(wireEvent(stored))

    expect([found.type, found.stream, found.position]).toEqual([
      'VisitNoted',
      'visit-org-1',
      { commit: 4096n, prepare: 4096n },
    ])
    expect(found.open()).toEqual({
      id,
      type: 'VisitNoted',
      streamId: 'visit-org-1',
      revision: 3n,
      position: { commit: 4096n, prepare: 4096n },
      created: new Date(1_700_000_000_000),
      isJson: true,
      data: { room: 1 },
      metadata: { commandId: 'c' },
      dataBytes: Buffer.from('{"room":1}'),
      metadataBytes: Buffer.from('{"commandId":"c"}'),
    })
  })

  test('any text is decoded unchanged', () => {
    const text = string({ unit: 'binary', minLength: 1 }).map((value) => value.toWellFormed())
    assert(
      property(text, text, text, nat(), (type, stream, note, revision) => {
        const data = JSON.stringify({ note })
        const event = frame(wireEvent({ ...stored, type, stream, data, revision })).open()
        expect(event).toMatchObject({
          type,
          streamId: stream,
          dataBytes: Buffer.from(data),
          data: { note },
          revision: BigInt(revision),
        })
      }),
    )
  })

  test.each(['9007199254740991', '9007199254740993', '18446744073709551615', '562949953421311', '562949953421312'])(
    'the position %s keeps all digits',
    (digits) => {
      const message = wireEvent(stored)
      message.getEvent()?.getEvent()?.setCommitPosition(digits)
      const found = frame(message)
      const upTo = (commit: bigint, prepare: bigint): boolean => found.isUpTo({ commit, prepare })

      expect(found.position).toEqual({ commit: BigInt(digits), prepare: 4096n })
      expect([
        upTo(BigInt(digits), 4096n),
        upTo(BigInt(digits) + 1n, 0n),
        upTo(BigInt(digits), 4095n),
        upTo(BigInt(digits) - 1n, 9999n),
      ]).toEqual([true, true, false, false])
    },
  )

  test.each<[string, (message: ReadResp) => void]>([
    ['like ours', () => undefined],
    ['invalid JSON', (message) => recordedIn(message).setData(Buffer.from('{"room":').toString('base64'))],
    ['JSON null', (message) => recordedIn(message).setData(Buffer.from('null').toString('base64'))],
    ['no data', (message) => recordedIn(message).setData('')],
    ['bytes', (message) => recordedIn(message).getMetadataMap().set('content-type', 'application/octet-stream')],
    [
      'no bytes',
      (message) => {
        recordedIn(message).getMetadataMap().del('content-type')
        recordedIn(message).setData('')
      },
    ],
    [
      'metadata that is no JSON',
      (message) => recordedIn(message).setCustomMetadata(Buffer.from('nothing').toString('base64')),
    ],
    ['metadata null', (message) => recordedIn(message).setCustomMetadata(Buffer.from('null').toString('base64'))],
    ['no metadata', (message) => recordedIn(message).setCustomMetadata('')],
    ['no type and no time', (message) => recordedIn(message).getMetadataMap().clear()],
    ['an empty type', (message) => recordedIn(message).getMetadataMap().set('type', '')],
    [
      'keys as long as known ones, behind them',
      (message) =>
        recordedIn(message).getMetadataMap().set('note', 'VisitOpened').set('encoded', '1').set('content-hash', 'x'),
    ],
    [
      'keys as long as known ones, before them',
      (message) => {
        const entries = entriesOf(message)
        const map = recordedIn(message).getMetadataMap()
        map.clear()
        for (const [key, value] of [
          ['note', 'VisitOpened'],
          ['encoded', '1'],
          ['content-hash', 'x'],
          ['', ''],
          ...entries.toReversed(),
        ] as const)
          map.set(key, value)
      },
    ],
  ])('decodes as the client does: %s', (_, change) => {
    const message = wireEvent(stored)
    change(message)
    const { dataBytes, metadataBytes, ...found } = frame(message).open()
    const expected = convertGrpcRecord(recordedIn(streams.ReadResp.deserializeBinary(bytesOf(message))))

    expect(found).toEqual(expected)
    const recorded = recordedIn(message)
    expect([dataBytes, metadataBytes]).toEqual([
      Buffer.from(recorded.getData_asB64(), 'base64'),
      Buffer.from(recorded.getCustomMetadata_asB64(), 'base64'),
    ])
  })

  test('members of a later server are skipped', () => {
    const before = Buffer.from([
      0xc8, 0x01, 0x96, 0x01, 0xcd, 0x01, 1, 2, 3, 4, 0xd1, 0x01, 1, 2, 3, 4, 5, 6, 7, 8, 0xda, 0x01, 2, 9, 9,
    ])
    expect(frameOf(Buffer.concat([before, bytesOf(wireEvent(stored))]))?.type).toBe('VisitNoted')
  })

  test('a message without an event returns undefined', () => {
    for (const message of [confirmation(), caughtUp(), checkpoint(7), new streams.ReadResp()])
      expect(frameOf(bytesOf(message))).toBeUndefined()
  })

  test('a message that is cut off is refused', () => {
    const whole = bytesOf(wireEvent(stored))
    for (let length = 1; length < whole.length; length += 1) {
      expect(() => frameOf(whole.subarray(0, length))).toThrow('cut off')
    }
    expect(() => new WireReader(Buffer.alloc(11, 0xff)).number()).toThrow('does not end')
  })
})
