import shared from '@eventstore/db-client/generated/shared_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import { assert, bigInt, oneof, constant, property, string, uuid, date } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { appendMessage, readAppendReply } from '../../../engine/store/append-messages.ts'
import { appended, wrongVersion } from './wire-messages.ts'

const correlationId = '0f5b3c1e-8d2a-4b6f-9c7d-ffffffffff01'
const event = {
  id: '00000000-0000-4000-8000-000000000001',
  type: 'VisitNoted',
  text: '{"room":1}',
  metadata: '{"commandId":"c"}',
}
const append = {
  correlationId,
  stream: 'visit-org-1',
  expected: 'no_stream',
  events: [event],
  deadline: new Date(1_700_000_000_000),
} as const

const decoded = (message: Buffer) => streams.BatchAppendReq.deserializeBinary(message)

describe('an append', () => {
  test('is readable by a server of the protocol', () => {
    const text = string({ unit: 'binary' }).map((value) => value.toWellFormed())
    const expected = oneof(
      constant('any' as const),
      constant('no_stream' as const),
      bigInt({ min: 0n, max: 2n ** 63n - 1n }),
    )
    assert(
      property(
        uuid(),
        text,
        text,
        text,
        expected,
        date({ min: new Date(0), noInvalidDate: true, max: new Date(8e15) }),
        (id, stream, type, note, revision, deadline) => {
          const events = [event, { ...event, id, type, text: JSON.stringify({ note }) }]
          const request = decoded(
            appendMessage({ ...append, correlationId: id, stream, expected: revision, deadline, events }),
          )
          const options = request.getOptions()

          expect([request.getCorrelationId()?.getString(), request.getIsFinal()]).toEqual([id, true])
          expect(Buffer.from(options?.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString('utf8')).toBe(stream)
          expect([options?.hasAny(), options?.hasNoStream()]).toEqual([revision === 'any', revision === 'no_stream'])
          if (typeof revision === 'bigint') expect(options?.getStreamPosition()).toBe(String(revision))
          expect(options?.getDeadline()?.getSeconds()).toBe(Math.floor(deadline.getTime() / 1000))
          const [first, second] = request.getProposedMessagesList()
          expect([first?.getId()?.getString(), first?.getMetadataMap().get('content-type')]).toEqual([
            event.id,
            'application/json',
          ])
          expect(Buffer.from(first?.getCustomMetadata_asU8() ?? []).toString()).toBe('{"commandId":"c"}')
          expect(second?.getMetadataMap().get('type')).toBe(type)
          expect(JSON.parse(Buffer.from(second?.getData_asU8() ?? []).toString('utf8'))).toEqual({ note })
        },
      ),
    )
  })
})

describe('an answer', () => {
  const answer = (message: { serializeBinary(): Uint8Array }) =>
    readAppendReply(Buffer.from(message.serializeBinary()), (id) => `stream of ${id}`)
  const request = decoded(appendMessage(append))

  test('of success contains revision and position', () => {
    for (const [revision, place] of [
      [0, 0],
      [127, 128],
      [2 ** 40, Number.MAX_SAFE_INTEGER],
    ] as const) {
      const position = { commit: BigInt(place), prepare: BigInt(place) }
      expect(answer(appended(request, revision, place))).toEqual({
        correlationId,
        result: { revision: BigInt(revision), position },
      })
    }
  })

  test('of refusal is the error of the client', () => {
    expect(answer(wrongVersion(request, 41))).toMatchObject({
      correlationId,
      result: { actualVersion: 41n, streamName: `stream of ${correlationId}` },
    })
  })

  test('of refusal without details is still a refusal', () => {
    const bare = wrongVersion(request, 41)
    bare.getError()?.clearDetails()
    bare.getError()?.setCode(14)
    expect(answer(bare)).toEqual({ correlationId, result: new Error('the event store refused an append: code 14') })
  })

  test('is matched by its id also in the form of two integers', () => {
    const reply = appended(request, 3, 4096)
    const id = Buffer.from(correlationId.replaceAll('-', ''), 'hex')
    const structured = new shared.UUID.Structured()
    structured.setMostSignificantBits(id.readBigInt64BE(0).toString())
    structured.setLeastSignificantBits(id.readBigInt64BE(8).toString())
    const both = new shared.UUID()
    both.setStructured(structured)
    reply.setCorrelationId(both)
    expect(answer(reply)).toMatchObject({ correlationId, result: { revision: 3n } })
  })

  test('without content is an error', () => {
    expect(() => answer(new streams.BatchAppendResp())).toThrow('is empty')
  })
})
