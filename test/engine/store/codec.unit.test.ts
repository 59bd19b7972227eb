import { createSecretKey } from 'node:crypto'
import type { SubjectKey } from '../../../platform/kit/key-vault.ts'
import { Type } from 'typebox'
import { v4, v5 } from 'uuid'
import { describe, expect, test } from 'vitest'
import { noOrganisation } from '../../../platform/kit/tenants.ts'
import { createCatalogue } from '../../../engine/store/catalogue.ts'
import { createCodec, type Codec, type OutgoingEvent } from '../../../engine/store/codec.ts'
import { InvalidEventError, UndecodableEventError, UnknownEventTypeError } from '../../../engine/store/errors.ts'
import { EventKeys } from '../../../engine/store/event-keys.ts'
import type { StoredEvent } from '../../../engine/store/decoding.ts'
import { eventIdOf, type DomainEvent } from '../../../engine/store/events.ts'
import { defineEvent, KeyOwner, Phi } from '../../../engine/store/schema.ts'
import { createSigner } from '../../../engine/store/signature.ts'
import { MemoryKeys, newContext } from './fixtures.ts'

const stream = 'visit-org-1'
const begin = { stream, expected: 'no_stream' } as const
const contacts = Phi(Type.Array(Type.Object({ phone: Type.String() })))
const VisitOpened = defineEvent(
  'VisitOpened',
  Type.Object({
    patientId: Type.String(),
    room: Type.Integer(),
    name: Type.Optional(Phi(Type.String())),
    contacts: Type.Optional(contacts),
  }),
  { subject: 'patientId' },
)
/** The same type without PHI, so a test can sign a sealed member at another place. */
const sealedAsData = defineEvent(
  'VisitOpened',
  Type.Object({ patientId: Type.String(), room: Type.Integer(), name: Type.Unknown(), contacts: Type.Unknown() }),
)
const VisitMoved = defineEvent('VisitMoved', Type.Object({ to: Type.Object({ room: Type.Integer() }) }))
const events = { VisitOpened, VisitMoved }
const opened = {
  type: 'VisitOpened',
  data: { patientId: 'p1', room: 3, name: 'Ada Canary', contacts: [{ phone: '555-canary' }] },
}

async function codecFor(
  catalogued: Parameters<typeof createCatalogue>[0] = [{ category: 'visit', events }],
  keys = new MemoryKeys(),
) {
  return { codec: createCodec(createCatalogue(catalogued), keys, await EventKeys.open(keys)), keys }
}

function dataOf({ text }: OutgoingEvent): unknown {
  return JSON.parse(text)
}

/** An event as a reader gets it: the stored bytes and their parsed form. */
function stored(event: OutgoingEvent, overrides: Partial<StoredEvent> = {}): StoredEvent {
  const { id, type, text, metadata = '' } = event
  const place = { streamId: stream, revision: 0n, created: new Date(0), position: { commit: 5n, prepare: 5n } }
  const bytes = { dataBytes: Buffer.from(text), metadataBytes: Buffer.from(metadata) }
  return {
    ...place,
    id,
    type,
    isJson: true,
    data: dataOf(event),
    metadata: JSON.parse(metadata),
    ...bytes,
    ...overrides,
  }
}

async function roundTrip(codec: Codec, event: DomainEvent) {
  const { events: encoded } = await codec.encode([event], newContext(), begin)
  const [first] = encoded
  if (first === undefined) throw new Error('nothing encoded')
  return { encoded: first, decoded: await codec.decode(stored(first)) }
}

describe('encoding', () => {
  test('a round trip returns the data and stores no PHI unencrypted', async () => {
    const { codec } = await codecFor()
    const { encoded, decoded } = await roundTrip(codec, opened)

    expect(decoded).toMatchObject({
      ...opened,
      stream,
      position: { commit: 5n },
      recordedAt: '1970-01-01T00:00:00.000Z',
    })
    expect(encoded.text).not.toMatch(/canary/i)
    expect(dataOf(encoded)).toMatchObject({ patientId: 'p1', room: 3, name: { $phi: expect.any(String) } })
  })

  test('encode announces exactly the events that decode returns', async () => {
    const { codec } = await codecFor()
    const events = [opened, { type: 'VisitMoved', data: { to: { room: 4 }, ignored: undefined } }]
    const append = await codec.encode(events, newContext(), begin)
    const read = await Promise.all(
      append.events.map(async (event, index) => codec.decode(stored(event, { revision: BigInt(index) }))),
    )

    expect(read.map(({ type, data }) => ({ type, data }))).toEqual(append.decoded)
  })

  test('ids derive from the command and the index in it', async () => {
    const { codec } = await codecFor()
    const context = newContext()
    const moved = { type: 'VisitMoved', data: { to: { room: 4 } } }
    const append = await codec.encode([moved, moved], context, begin)

    expect(append.events.map(({ id }) => id)).toEqual([
      eventIdOf(context.commandId, 0),
      eventIdOf(context.commandId, 1),
    ])
    expect(eventIdOf('6f8e3a52-8e4f-4d39-9a67-8b5b9a3b0a11', 0)).toBe('23ede143-3dd8-5fff-bde2-ad81fb59604c')
    for (let index = 0; index < 100; index += 1) {
      const commandId = v4()
      expect(eventIdOf(commandId, index)).toBe(v5(String(index), commandId))
    }
    expect(() => eventIdOf('not a UUID', 0)).toThrow(TypeError)
  })

  test.each([
    ['data that the schema refuses', { type: 'VisitOpened', data: { patientId: 'p1', room: 'x-canary' } }, '/room'],
    [
      'a member that no schema declares',
      { type: 'VisitMoved', data: { to: { room: 1 }, nickname: 'canary' } },
      '/nickname',
    ],
    ['an undeclared nested member', { type: 'VisitMoved', data: { to: { room: 1, note: 'canary' } } }, '/to/note'],
    ['a type that no definition declares', { type: 'VisitLost', data: {} }, ''],
    ['data that is no object', { type: 'VisitMoved', data: ['canary'] }, ''],
  ])('%s is refused with name and pointer, never with a value', async (_, event, pointer) => {
    const { codec } = await codecFor()
    const error: unknown = await codec.encode([event], newContext(), begin).catch((reason: unknown) => reason)

    expect(error).toBeInstanceOf(InvalidEventError)
    expect(error).toMatchObject({ type: event.type, pointer })
    expect(String(error)).not.toMatch(/canary/)
  })

  test('an event belongs to the streams of its category', async () => {
    const { codec } = await codecFor()
    await expect(codec.encode([opened], newContext(), { ...begin, stream: 'patient-org-1' })).rejects.toThrow(
      /belongs to visit, not to patient/,
    )
  })

  test('PHI without an organisation is refused', async () => {
    const { codec } = await codecFor()
    const { orgId: _, ...context } = newContext()
    await expect(codec.encode([opened], context, begin)).rejects.toThrow(/organisation/)
  })

  test('a member of the data can name the owner of the key', async () => {
    const schema = Type.Object({ owner: KeyOwner, person: Type.String(), name: Phi(Type.String()) })
    const VisitPaid = defineEvent('VisitPaid', schema, { subject: 'person', keyOwner: { member: 'owner' } })
    const { codec, keys } = await codecFor([{ category: 'visit', events: { VisitPaid } }])
    keys.destroy(noOrganisation, 'p1')
    const paidBy = async (owner: KeyOwner) => {
      const { decoded } = await roundTrip(codec, { type: 'VisitPaid', data: { owner, person: 'p1', name: 'Ada' } })
      return decoded.data
    }

    expect(await paidBy('platform')).toMatchObject({ name: null })
    expect(await paidBy('organisation')).toMatchObject({ name: 'Ada' })
  })

  test('an erased subject is written and read as null', async () => {
    const { codec, keys } = await codecFor()
    keys.destroy('org', 'p1')
    const { encoded, decoded } = await roundTrip(codec, opened)

    expect(dataOf(encoded)).toEqual({ patientId: 'p1', room: 3, name: null, contacts: null })
    expect(decoded.data).toEqual(dataOf(encoded))
  })
})

describe('decoding', () => {
  async function encodedOpened() {
    const { codec, keys } = await codecFor()
    const { encoded } = await roundTrip(codec, opened)
    return { codec, keys, encoded }
  }

  const undecodable = (reason: string) => expect.objectContaining({ reason, code: `undecodable-event-${reason}` })

  test.each<[string, (event: OutgoingEvent) => StoredEvent]>([
    ['its data is changed', (event) => stored({ ...event, text: event.text.replace('"room":3', '"room":4') })],
    [
      'its data has other white space',
      (event) => stored({ ...event, text: event.text.replace('"room":3', '"room": 3') }),
    ],
    ['it has another id', (event) => stored(event, { id: crypto.randomUUID() })],
    ['it has another type', (event) => stored(event, { type: 'VisitMoved' })],
    ['it is in another stream', (event) => stored(event, { streamId: 'visit-org-2' })],
    ['it is at another revision', (event) => stored(event, { revision: 1n })],
    [
      'its signature has other letters',
      (event) => stored({ ...event, metadata: event.metadata?.replace(/.{43}"}$/, `${'A'.repeat(43)}"}`) }),
    ],
    [
      'its signature is not the last member',
      (event) => stored({ ...event, metadata: event.metadata?.replace(/}$/, ',"userId":"x"}') }),
    ],
    ['its metadata is shorter than a signature', (event) => stored(event, { metadataBytes: Buffer.from('{}') })],
    ...['commandId', '$correlationId', 'orgId', 'clientId', 'requestId', 'schemaVersion'].map(
      (member): [string, (event: OutgoingEvent) => StoredEvent] => [
        `its ${member} is replaced`,
        (event) =>
          stored({
            ...event,
            metadata: JSON.stringify({
              ...Object(JSON.parse(event.metadata ?? '')),
              [member]: member === 'schemaVersion' ? 2 : 'x',
            }),
          }),
      ],
    ),
  ])('an event is refused if %s', async (_, change) => {
    const { codec, encoded } = await encodedOpened()
    expect(codec.decode(stored(encoded))).toBeDefined()
    expect(() => codec.decode(change(encoded))).toThrow(undecodable('signature'))
  })

  test('the report contains the event, its place and the reason, and none of its content', async () => {
    const { codec, encoded } = await encodedOpened()
    expect(() => codec.decode(stored(encoded, { revision: 7n }))).toThrow(
      `VisitOpened ${encoded.id} at 7@visit-org-1 cannot be read: its signature does not match: it was altered, moved, replayed or renamed, ` +
        'or was not written by this installation (signature)',
    )
  })

  test('the signature separates data from metadata, and the names of the place from each other', async () => {
    const signer = createSigner(createSecretKey(new Uint8Array(32)))
    const place = { stream: 'a', revision: 1n, id: 'b', type: 'c' }
    const signatureOf = (text: string): string => text.slice(-45)
    const inputs = [
      signer.sign(place, '{}', '{"x":1}'),
      signer.sign(place, '{}{"x":1', '}'),
      signer.sign({ ...place, stream: 'a","1' }, '{}', '{"x":1}'),
      signer.sign({ ...place, stream: 'a\n1' }, '{}', '{"x":1}'),
      signer.sign({ ...place, revision: 11n }, '{}', '{"x":1}'),
      signer.sign({ ...place, id: 'b"', type: '"c' }, '{}', '{"x":1}'),
    ]
    expect(new Set(inputs.map(signatureOf)).size).toBe(inputs.length)
  })

  test('a sealed member opens in its own stream only', async () => {
    const { codec, keys, encoded } = await encodedOpened()
    const elsewhere = { ...begin, stream: 'visit-org-2' }
    const { codec: plain } = await codecFor([{ category: 'visit', events: { Sealed: sealedAsData } }], keys)
    const {
      events: [moved],
    } = await plain.encode([{ type: 'VisitOpened', data: dataOf(encoded) }], newContext(), elsewhere)
    if (moved === undefined) throw new Error('nothing encoded')
    await expect(codec.decode(stored(moved, { streamId: elsewhere.stream }))).rejects.toEqual(undecodable('decryption'))
  })

  test('a missing key is an error, never an erasure', async () => {
    const { codec, keys, encoded } = await encodedOpened()
    keys.lose('org', 'p1')
    await expect(codec.decode(stored(encoded))).rejects.toEqual(undecodable('key-missing'))
  })

  test('an erased subject reads as null', async () => {
    const { codec, keys, encoded } = await encodedOpened()
    keys.destroy('org', 'p1')
    expect((await codec.decode(stored(encoded))).data).toEqual({ patientId: 'p1', room: 3, name: null, contacts: null })
  })

  test('an undeclared type is a separate error', async () => {
    const keys = new MemoryKeys()
    const { codec } = await codecFor(undefined, keys)
    const { codec: later } = await codecFor(
      [{ category: 'visit', events: { ...events, New: defineEvent('VisitNew', Type.Object({})) } }],
      keys,
    )
    const { encoded } = await roundTrip(later, { type: 'VisitNew', data: {} })

    expect(() => codec.decode(stored(encoded))).toThrow(UnknownEventTypeError)
  })

  test('events without PHI decode synchronously, and so do events with a cached key', async () => {
    class AtHand extends MemoryKeys {
      key: SubjectKey | undefined
      cachedSubjectKey() {
        return this.key
      }
    }
    const keys = new AtHand()
    const { codec } = await codecFor(undefined, keys)
    const { encoded } = await roundTrip(codec, opened)
    const { encoded: moved } = await roundTrip(codec, { type: 'VisitMoved', data: { to: { room: 1 } } })
    keys.key = await keys.subjectKeyForReading('org', 'p1')

    expect(codec.decode(stored(moved))).toMatchObject({ data: { to: { room: 1 } } })
    expect(codec.decode(stored(encoded))).toMatchObject({ data: opened.data })
  })
})

describe('versions', () => {
  const keys = new MemoryKeys()
  const first = defineEvent('VisitMoved', Type.Object({ room: Type.Integer() }))
  const third = defineEvent(
    'VisitMoved',
    Type.Object({ to: Type.Object({ room: Type.Integer(), floor: Type.Integer() }) }),
    {
      version: 3,
      upcasters: {
        1: (data) => ({ to: data }),
        2: (data) => ({ to: { ...Object(Object(data).to), floor: 0 } }),
      },
    },
  )

  test('an old shape is upcast to the newest, step by step', async () => {
    const { codec: old } = await codecFor([{ category: 'visit', events: { first } }], keys)
    const { codec: now } = await codecFor([{ category: 'visit', events: { third } }], keys)
    const { encoded } = await roundTrip(old, { type: 'VisitMoved', data: { room: 7 } })
    const decoded = await now.decode(stored(encoded))

    expect(decoded.data).toEqual({ to: { room: 7, floor: 0 } })
    expect(decoded.metadata.schemaVersion).toBe(1)
  })

  test('a shape newer than this program is an error', async () => {
    const { codec: old } = await codecFor([{ category: 'visit', events: { first } }], keys)
    const { codec: now } = await codecFor([{ category: 'visit', events: { third } }], keys)
    const { encoded } = await roundTrip(now, { type: 'VisitMoved', data: { to: { room: 7, floor: 1 } } })

    expect(() => old.decode(stored(encoded))).toThrow(UndecodableEventError)
    expect(() => old.decode(stored(encoded))).toThrow(/newer-version/)
  })

  test('an upcaster that throws is an undecodable event', async () => {
    const broken = defineEvent('VisitMoved', Type.Object({}), {
      version: 2,
      upcasters: {
        1: () => {
          throw new Error('no such shape')
        },
      },
    })
    const { codec: old } = await codecFor([{ category: 'visit', events: { first } }], keys)
    const { codec: now } = await codecFor([{ category: 'visit', events: { broken } }], keys)
    const { encoded } = await roundTrip(old, { type: 'VisitMoved', data: { room: 7 } })

    expect(() => now.decode(stored(encoded))).toThrow(/upcaster/)
  })
})

test('events are signed with the key that is the newest when the keys of their subjects are there', async () => {
  const keys = new MemoryKeys()
  const { codec } = await codecFor([{ category: 'visit', events }], keys)
  const [first] = await keys.eventKeys()
  const second = { id: 'AbCd-_12', key: createSecretKey(Buffer.alloc(32, 2)), end: undefined }
  const subjectKey = keys.subjectKeyForWriting.bind(keys)
  keys.subjectKeyForWriting = async (...subject) => {
    // Meanwhile the key is rotated, and this process learns of it.
    keys.eventKeys = async () => [second, ...(first === undefined ? [] : [first])]
    await codec.refreshKeys()
    return subjectKey(...subject)
  }
  const { events: encoded } = await codec.encode([opened], newContext(), begin)
  expect(encoded[0]?.metadata).toContain(`"key":"${second.id}"`)
})
