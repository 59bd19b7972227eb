import { categoryOf, type Catalogue, type CatalogueEntry } from './catalogue.ts'
import { decodeWith, recordWith, type StoredEvent, type StoredRecord } from './decoding.ts'
import { InvalidEventError } from './errors.ts'
import {
  eventIdOf,
  isJsonObject,
  type DomainEvent,
  type EventMetadata,
  type JsonObject,
  type RecordedEvent,
} from './events.ts'
import { nextRevision, type StreamRevision } from '../../platform/kit/positions.ts'
import type { CommandContext } from '../../platform/kit/tenants.ts'
import { readJsonText } from '../../platform/kit/json-reading.ts'
import { memberPlace, sealMember } from './phi-encryption.ts'
import { keyOrganisationOf } from './schema.ts'
import type { KeyVault } from '../../platform/kit/key-vault.ts'
import type { EventKeys, SignedEvent } from './event-keys.ts'
import type { SignedPlace, Signer } from './signature.ts'

/** An event of a public channel. The channel derives its id and metadata from a source event. */
export interface RawEvent {
  readonly id: string
  readonly type: string
  readonly data: unknown
  readonly metadata: Omit<EventMetadata, 'signature' | 'schemaVersion'>
}

/** An event ready to send: data and metadata as JSON text. */
export interface OutgoingEvent {
  readonly id: string
  readonly type: string
  readonly text: string
  readonly metadata: string | undefined
}

/**
 * One append, ready to send. The signatures bind its events to one place: `stream`, from the revision after `expected`
 * on.
 */
export interface EncodedAppend {
  readonly stream: string
  readonly expected: StreamRevision
  readonly events: readonly OutgoingEvent[]
  /** The same events as a read returns them. */
  readonly decoded: readonly DomainEvent[]
  /** Size as the server counts it: data, metadata, and two bytes for each character of the type. */
  readonly bytes: number
}

/** The place of the events of one append. */
type AppendPlace = Pick<EncodedAppend, 'stream' | 'expected'>

export interface Codec {
  /** Validates, encrypts PHI and signs. Throws `InvalidEventError`. */
  readonly encode: (
    events: readonly DomainEvent[],
    context: CommandContext,
    place: AppendPlace,
  ) => Promise<EncodedAppend>
  readonly encodeRaw: (events: readonly RawEvent[], place: AppendPlace) => Promise<EncodedAppend>
  /**
   * Returns a promise only if a key must be fetched. Throws or rejects with `UndecodableEventError`.
   * @param isOpened false: personal members stay sealed, and no key is needed
   */
  readonly decode: (event: StoredEvent, isOpened?: boolean) => RecordedEvent | Promise<RecordedEvent>
  /** The event as it is stored, for auditors. Undefined if this installation did not sign it. */
  readonly record: (event: StoredEvent, isOpened: boolean) => Promise<StoredRecord | undefined>
  /** A promise only if the event names a key that this process does not know. */
  readonly isSigned: (event: SignedEvent) => boolean | Promise<boolean>
  /** Reads the keys that sign events anew. */
  readonly refreshKeys: () => Promise<void>
  /** Signs a text for one member of one stream's metadata. */
  readonly signMark: (mark: MarkPlace, value: string) => string
  /** The text that was signed for this place; undefined for any other text. */
  readonly openMark: (mark: MarkPlace, signed: string) => Promise<string | undefined>
}

/** A member of a stream's metadata. */
interface MarkPlace {
  readonly stream: string
  readonly name: string
}

export function createCodec(catalogue: Catalogue, vault: KeyVault, keys: EventKeys): Codec {
  return {
    async encode(events, context, place) {
      const { stream } = place
      const prepared = await Promise.all(
        events.map(async (event, index) => {
          const entry = entryFor(catalogue, event.type, stream)
          const plain = plainData(entry, event)
          const orgId = keyOrganisationOf(entry.definition, context.orgId, plain)
          const protectedData = await protect(entry, vault, plain, orgId, stream)
          const head = {
            id: eventIdOf(context.commandId, index),
            type: event.type,
            stream,
            revision: revisionAt(place, index),
          }
          return { entry, head, protectedData }
        }),
      )
      // Last: a key counts for a minute behind its end only, and the vault may take long for the keys of subjects.
      const current = keys.signer()
      const signer = current instanceof Promise ? await current : current
      return together(
        place,
        prepared.map(({ entry, head, protectedData }) =>
          signed(signer, entry, head, metadataOf(context), protectedData),
        ),
      )
    },
    async encodeRaw(events, place) {
      const { stream } = place
      const signer = await keys.signer()
      const encoded = events.map((event, index) => {
        const { id, type, metadata } = event
        const entry = entryFor(catalogue, type, stream)
        if (entry.phiMembers.length > 0) throw new InvalidEventError(type, '', 'PHI is never written raw')
        const plain = plainData(entry, event)
        return signed(signer, entry, { id, type, stream, revision: revisionAt(place, index) }, metadata, {
          stored: plain,
          decoded: plain,
        })
      })
      return together(place, encoded)
    },
    decode: decodeWith(catalogue, vault, keys),
    record: recordWith(catalogue, vault, keys),
    isSigned: (event) => keys.isSigned(event),
    refreshKeys: () => keys.refresh(),
    signMark: (mark, value) => keys.newest.sign(placeOfMark(mark), '', JSON.stringify({ value })),
    async openMark(mark, signed) {
      if (!(await keys.isSignedText(placeOfMark(mark), noData, Buffer.from(signed)))) return undefined
      const { value } = JSON.parse(signed) as { readonly value: string }
      return value
    },
  }
}

const noData = new Uint8Array()

/** No event has an empty id, so no mark has the signature of an event. */
function placeOfMark({ stream, name }: MarkPlace): SignedPlace {
  return { stream, revision: 0n, id: '', type: name }
}

function revisionAt({ expected }: AppendPlace, index: number): bigint {
  return nextRevision(expected) + BigInt(index)
}

function entryFor(catalogue: Catalogue, type: string, stream: string): CatalogueEntry {
  const entry = catalogue.entry(type)
  if (entry === undefined) throw new InvalidEventError(type, '', 'is not in the catalogue')
  if (entry.category !== categoryOf(stream)) {
    throw new InvalidEventError(type, '', `belongs to ${entry.category}, not to ${categoryOf(stream)}`)
  }
  return entry
}

/**
 * The data as JSON returns it, with members in the order of the schema. So the stored bytes do not depend on how the
 * data was built. Data that the client cannot encode must fail here: in the client the append would never end.
 */
function plainData(entry: CatalogueEntry, event: { readonly type: string; readonly data: unknown }): JsonObject {
  let plain: unknown
  try {
    const text = JSON.stringify(event.data) ?? 'null'
    if (mayHoldLargeIntegers.test(text)) JSON.parse(text, refuseLargeIntegers)
    plain = readJsonText(text)
  } catch {
    throw new InvalidEventError(event.type, '', 'cannot be encoded as JSON without loss')
  }
  const refusal = entry.refusals(plain)[0]
  if (refusal !== undefined) throw new InvalidEventError(event.type, refusal.pointer, refusal.message)
  const ordered = entry.ordered(plain)
  if (!isJsonObject(ordered)) throw new InvalidEventError(event.type, '', 'data is not an object')
  return ordered
}

const mayHoldLargeIntegers = /[:,[]-?\d{16}/

/** Beyond 2^53 digits were lost already: such numbers belong in strings. */
function refuseLargeIntegers(_: string, value: unknown): unknown {
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) throw new RangeError('an integer beyond 2^53')
  return value
}

interface ProtectedData {
  readonly stored: JsonObject
  readonly decoded: JsonObject
}

async function protect(
  entry: CatalogueEntry,
  vault: KeyVault,
  plain: JsonObject,
  orgId: string | undefined,
  stream: string,
): Promise<ProtectedData> {
  const { type, subject } = entry.definition
  const present = entry.phiMembers.filter((member) => plain[member] !== undefined && plain[member] !== null)
  if (present.length === 0 || subject === undefined) return { stored: plain, decoded: plain }
  const subjectId = plain[subject]
  if (typeof subjectId !== 'string') throw new InvalidEventError(type, `/${subject}`, 'names no subject for its PHI')
  if (orgId === undefined) throw new InvalidEventError(type, '', 'PHI needs the organisation in the command context')
  const key = await vault.subjectKeyForWriting(orgId, subjectId)
  if (key === 'destroyed') {
    const erased = { ...plain, ...Object.fromEntries(present.map((member) => [member, null])) }
    return { stored: erased, decoded: erased }
  }
  const sealed = present.map((member) => [member, sealMember(key, memberPlace(stream, type, member), plain[member])])
  return { stored: { ...plain, ...Object.fromEntries(sealed) }, decoded: plain }
}

function metadataOf(context: CommandContext): RawEvent['metadata'] {
  const { commandId, correlationId, causationId, orgId, clientId, userId, process, requestId, traceparent } = context
  return {
    commandId,
    $correlationId: correlationId,
    ...(causationId === undefined ? {} : { $causationId: causationId }),
    ...(orgId === undefined ? {} : { orgId }),
    ...(clientId === undefined ? {} : { clientId }),
    ...(userId === undefined ? {} : { userId }),
    ...(process === undefined ? {} : { process }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(traceparent === undefined ? {} : { traceparent }),
  }
}

interface EncodedEvent {
  readonly event: OutgoingEvent
  readonly decoded: DomainEvent
  readonly bytes: number
}

function signed(
  signer: Signer,
  entry: CatalogueEntry,
  place: SignedPlace,
  given: RawEvent['metadata'],
  { stored, decoded }: ProtectedData,
): EncodedEvent {
  const { id, type } = place
  const text = JSON.stringify(stored)
  const metadata = signer.sign(place, text, JSON.stringify({ ...given, schemaVersion: entry.definition.version }))
  return {
    event: { id, type, text, metadata },
    decoded: { type, data: decoded },
    bytes: Buffer.byteLength(text) + Buffer.byteLength(metadata) + 2 * type.length,
  }
}

function together({ stream, expected }: AppendPlace, encoded: readonly EncodedEvent[]): EncodedAppend {
  return {
    stream,
    expected,
    events: encoded.map((each) => each.event),
    decoded: encoded.map((each) => each.decoded),
    bytes: encoded.reduce((sum, each) => sum + each.bytes, 0),
  }
}
