import { createSecretKey } from 'node:crypto'
import { Type } from 'typebox'
import { describe, expect, test } from 'vitest'
import { createCatalogue } from '../../../engine/store/catalogue.ts'
import { createCodec } from '../../../engine/store/codec.ts'
import { EventKeys } from '../../../engine/store/event-keys.ts'
import { frameOf } from '../../../engine/store/log-frames.ts'
import { memberPlace, openMember, sealMember } from '../../../engine/store/phi-encryption.ts'
import { defineEvent } from '../../../engine/store/schema.ts'
import { MemoryKeys, newContext } from './fixtures.ts'
import { wireEvent } from './wire-messages.ts'

/** After certain other names, V8 confuses names like these with them: https://github.com/nodejs/node/issues/63785. */
const planted = ['{"room":0,"\\\\":1}', '{"\\\\":1}']
const values: readonly Record<string, number>[] = [{ room: 0, '"': 2 }, { '"': 3 }]

/** The result of `read` for each value, after the other names were read. */
function reading(read: (value: Record<string, number>) => unknown): unknown[] {
  return [1, 2, 3].map(() => {
    for (const text of planted) JSON.parse(text)
    return values.map((value) => Object.entries(read(value) as object))
  })
}

const untouched = [1, 2, 3].map(() => values.map((value) => Object.entries(value)))

describe('names with an escape', () => {
  test('stay unchanged in stored events', () => {
    const event = {
      id: '00000000-0000-4000-8000-000000000001',
      stream: 'visit-org-1',
      type: 'VisitNoted',
      revision: 0,
      position: 5,
      metadata: '{}',
    }
    expect(
      reading(
        (value) =>
          frameOf(Buffer.from(wireEvent({ ...event, data: JSON.stringify(value) }).serializeBinary()))?.open().data,
      ),
    ).toEqual(untouched)
  })

  test('stay unchanged in sealed members', () => {
    const key = createSecretKey(new Uint8Array(32).fill(7))
    const place = memberPlace('visit-org-1', 'VisitOpened', 'name')
    expect(reading((value) => openMember(key, place, sealMember(key, place, value)))).toEqual(untouched)
  })

  test('stay unchanged in events to be written', async () => {
    const keys = new MemoryKeys()
    const visitMeasured = defineEvent('VisitMeasured', Type.Record(Type.String(), Type.Integer()))
    const catalogue = createCatalogue([{ category: 'visit', events: { visitMeasured } }])
    const codec = createCodec(catalogue, keys, await EventKeys.open(keys))
    const { commandId, correlationId } = newContext()
    const encoded = (value: Record<string, number>) =>
      codec.encodeRaw(
        [{ id: commandId, type: 'VisitMeasured', data: value, metadata: { commandId, $correlationId: correlationId } }],
        { stream: 'visit-org-1', expected: 'no_stream' },
      )
    const written: unknown[] = []
    for (const _ of untouched) {
      for (const text of planted) JSON.parse(text)
      const appends = await Promise.all(values.map(encoded))
      written.push(appends.map(({ decoded: [event] }) => Object.entries(event?.data ?? {})))
    }
    expect(written).toEqual(untouched)
  })
})
