import { categoryOf, type Catalogue, type CatalogueEntry } from './catalogue.ts'
import { decodeWith, isJsonObject, type JsonObject, type StoredEvent } from './decoding.ts'
import { InvalidEventError } from './errors.ts'
import { eventIdOf } from './event-ids.ts'
import type { CommandContext, DomainEvent, EventMetadata, RecordedEvent } from './events.ts'
import { readJsonText } from './json-reading.ts'
import { memberPlace, sealMember } from './phi-encryption.ts'
import type { KeyVault } from './ports.ts'
import { createSigner, type Signer } from './signature.ts'

/** An event of a public channel: its id and metadata are given, since the channel derives them from a source event. */
export interface RawEvent {
  readonly id: string
  readonly type: string
  readonly data: unknown
  readonly metadata: Omit<EventMetadata, 'signature' | 'schemaVersion'>
}

/** An event as it is sent: its data as JSON text, its metadata as the bytes of such. */
export interface OutgoingEvent {
  readonly id: string
  readonly type: string
  readonly text: string
  readonly metadata: Uint8Array | undefined
}

/** One append, ready to send. */
export interface EncodedAppend {
  readonly events: readonly OutgoingEvent[]
  /** The same events as reading them back will show them. */
  readonly decoded: readonly DomainEvent[]
  /** Size as the server counts it: data, metadata, and two bytes for each character of the type. */
  readonly bytes: number
}

export interface Codec {
  /** Validates, encrypts PHI and signs. Throws `InvalidEventError`. */
  readonly encode: (events: readonly DomainEvent[], context: CommandContext, stream: string) => Promise<EncodedAppend>
  readonly encodeRaw: (events: readonly RawEvent[], stream: string) => EncodedAppend
  /** A promise only where a subject's key has to be fetched. Throws or rejects with `UndecodableEventError`. */
  readonly decode: (event: StoredEvent) => RecordedEvent | Promise<RecordedEvent>
}

/** `signingKey` is the vault's `eventSigningKey()`. */
export function createCodec(catalogue: Catalogue, vault: KeyVault, signingKey: Uint8Array): Codec {
  const sign = createSigner(signingKey)
  return {
    async encode(events, context, stream) {
      const encoded = await Promise.all(
        events.map(async (event, index) => {
          const entry = entryFor(catalogue, event.type, stream)
          const plain = plainData(entry, event)
          const protectedData = await protect(entry, vault, plain, context.orgId, stream)
          const metadata = metadataOf(context)
          return signed(sign, entry, { id: eventIdOf(context.commandId, index), type: event.type, metadata }, protectedData)
        }),
      )
      return together(encoded)
    },
    encodeRaw(events, stream) {
      return together(
        events.map((event) => {
          const entry = entryFor(catalogue, event.type, stream)
          if (entry.phiMembers.length > 0) throw new InvalidEventError(event.type, '', 'PHI is never written raw')
          const plain = plainData(entry, event)
          return signed(sign, entry, event, { stored: plain, decoded: plain })
        }),
      )
    },
    decode: decodeWith(catalogue, vault, sign),
  }
}

function entryFor(catalogue: Catalogue, type: string, stream: string): CatalogueEntry {
  const entry = catalogue.entry(type)
  if (entry === undefined) throw new InvalidEventError(type, '', 'is not in the catalogue')
  if (entry.category !== categoryOf(stream)) {
    throw new InvalidEventError(type, '', `belongs to ${entry.category}, not to ${categoryOf(stream)}`)
  }
  return entry
}

/** The data as JSON will bring it back: what the client cannot encode must fail here, since there it would never settle. */
function plainData(entry: CatalogueEntry, event: { readonly type: string; readonly data: unknown }): JsonObject {
  let plain: unknown
  try {
    const text = JSON.stringify(event.data) ?? 'null'
    if (mayHoldLargeIntegers.test(text)) JSON.parse(text, refuseLargeIntegers)
    plain = readJsonText(text)
  } catch {
    throw new InvalidEventError(event.type, '', 'cannot be encoded as JSON without loss')
  }
  if (!isJsonObject(plain)) throw new InvalidEventError(event.type, '', 'data is not an object')
  const refusal = entry.refusals(plain)[0]
  if (refusal !== undefined) throw new InvalidEventError(event.type, refusal.pointer, refusal.message)
  return plain
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

function metadataOf(context: CommandContext): Omit<EventMetadata, 'signature' | 'schemaVersion'> {
  const { commandId, correlationId, causationId, orgId, clientId, userId, requestId, traceparent } = context
  return {
    commandId,
    $correlationId: correlationId,
    ...(causationId === undefined ? {} : { $causationId: causationId }),
    ...(orgId === undefined ? {} : { orgId }),
    ...(clientId === undefined ? {} : { clientId }),
    ...(userId === undefined ? {} : { userId }),
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
  sign: Signer,
  entry: CatalogueEntry,
  head: Pick<RawEvent, 'id' | 'type' | 'metadata'>,
  { stored, decoded }: ProtectedData,
): EncodedEvent {
  const { id, type } = head
  const text = JSON.stringify(stored)
  const signature = sign(id, type, text)
  const metadata: EventMetadata = { ...head.metadata, schemaVersion: entry.definition.version, signature }
  const metadataBytes = new TextEncoder().encode(JSON.stringify(metadata))
  return {
    event: { id, type, text, metadata: metadataBytes },
    decoded: { type, data: decoded },
    bytes: Buffer.byteLength(text) + metadataBytes.length + 2 * type.length,
  }
}

function together(encoded: readonly EncodedEvent[]): EncodedAppend {
  return {
    events: encoded.map((each) => each.event),
    decoded: encoded.map((each) => each.decoded),
    bytes: encoded.reduce((sum, each) => sum + each.bytes, 0),
  }
}
