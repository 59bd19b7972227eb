import type { Catalogue, CatalogueEntry } from './catalogue.ts'
import { UndecodableEventError, UnknownEventTypeError, type EventHead } from './errors.ts'
import { MissingKeyError, type KeyVault, type SubjectKey } from '../../platform/kit/key-vault.ts'
import { isJsonObject, type EventMetadata, type JsonObject, type RecordedEvent } from './events.ts'
import { keyOrganisationOf } from './schema.ts'
import { publicContent } from './schema-inspection.ts'
import { isSealed, memberPlace, openMember } from './phi-encryption.ts'
import { Sealed, type SealedPlace } from './sealed.ts'
import type { Position } from '../../platform/kit/positions.ts'
import type { EventKeys } from './event-keys.ts'

/** A stored event with its content in bytes and parsed. */
export interface StoredEvent {
  readonly id: string
  readonly type: string
  readonly streamId: string
  readonly revision: bigint
  readonly position?: Position | undefined
  readonly created: Date
  readonly isJson: boolean
  readonly data: unknown
  readonly metadata?: unknown
  /** The stored bytes of the data and the metadata, which the signature covers. */
  readonly dataBytes: Uint8Array
  readonly metadataBytes: Uint8Array
}

/** Links, stream metadata and statistics of the server itself. None of them is a domain event. */
export function isSystemEvent({ type, streamId }: Pick<StoredEvent, 'type' | 'streamId'>): boolean {
  return type.startsWith('$') || streamId.startsWith('$')
}

/** The position in `$all`. Servers before 22.6 do not return it when a stream is read; they are refused. */
function positionOf(event: Pick<StoredEvent, 'position'>): Position {
  if (event.position === undefined)
    throw new Error('the server returns no positions: EventStoreDB 22.6 or newer is needed')
  return event.position
}

export function headOf(event: StoredEvent): EventHead {
  return {
    id: event.id,
    type: event.type,
    stream: event.streamId,
    revision: event.revision,
    position: positionOf(event),
    recordedAt: event.created.toISOString(),
  }
}

/**
 * The reading half of the codec: checks shape and signature, decrypts, and upcasts old versions to the newest shape.
 * With `isOpened` false nothing is decrypted: `data` is then the same as `sealed`.
 */
export function decodeWith(catalogue: Catalogue, vault: KeyVault, keys: EventKeys) {
  const decoded = (
    head: EventHead,
    event: StoredEvent,
    isSigned: boolean,
    isOpened: boolean,
  ): RecordedEvent | Promise<RecordedEvent> => {
    const { data, metadata } = checkedContent(head, event, isSigned)
    const entry = catalogue.entry(event.type)
    if (entry === undefined) throw new UnknownEventTypeError(head)
    const shaped = (readable: JsonObject) => newestShape(head, entry, readable, metadata.schemaVersion)
    const subject = entry.definition.subject
    if (subject === undefined || !Object.values(data).some(isSealed)) return { ...head, data: shaped(data), metadata }
    const subjectId = data[subject]
    const orgId = keyOrganisationOf(entry.definition, metadata.orgId, data)
    if (typeof subjectId !== 'string' || orgId === undefined) throw new UndecodableEventError(head, 'malformed')
    const sealed = shaped(unopened(head, data, { orgId, subjectId }))
    if (!isOpened) return { ...head, data: sealed, sealed, metadata }
    const finish = (key: SubjectKey): RecordedEvent => ({
      ...head,
      data: shaped(opened(head, data, key)),
      sealed,
      metadata,
    })
    const cached = vault.cachedSubjectKey?.(orgId, subjectId)
    if (cached !== undefined) return finish(cached)
    return fetchedKey(vault, head, orgId, subjectId).then(finish)
  }
  return (event: StoredEvent, isOpened = true): RecordedEvent | Promise<RecordedEvent> => {
    const head = headOf(event)
    const isSigned = isSignedBy(keys, head, event)
    if (isSigned instanceof Promise) return isSigned.then((known) => decoded(head, event, known, isOpened))
    return decoded(head, event, isSigned, isOpened)
  }
}

/** An event as an auditor reads it: the stored members, in the stored version. */
export interface StoredRecord extends EventHead {
  readonly metadata: EventMetadata
  /** RFC 3339: the instant that the data names for the fact, else `recordedAt`. */
  readonly occurredAt: string
  /** Without internal secrets. Members that stay sealed are null. */
  readonly data: JsonObject
  readonly sealedMembers: readonly string[]
  /** The member that names the person whose key opened members of the data. Undefined if none was opened. */
  readonly openedBy: string | undefined
}

/**
 * Reads events as they are stored. `isOpened`: personal members are decrypted, unless the key of their subject is gone.
 * The promise is undefined for an event that this installation did not sign.
 */
export function recordWith(catalogue: Catalogue, vault: KeyVault, keys: EventKeys) {
  return async (event: StoredEvent, isOpened: boolean): Promise<StoredRecord | undefined> => {
    const head = headOf(event)
    const content = signedContent(head, event, await isSignedBy(keys, head, event))
    if (content === undefined) return undefined
    const { metadata } = content
    const entry = catalogue.entry(event.type)
    // Only the schema shows which members are secret.
    if (entry === undefined)
      return { ...head, metadata, occurredAt: head.recordedAt, data: {}, sealedMembers: [], openedBy: undefined }
    const { schema, subject = '' } = entry.definition
    const { [subject]: subjectId } = content.data
    const orgId = keyOrganisationOf(entry.definition, metadata.orgId, content.data)
    const isSealing =
      isOpened && typeof subjectId === 'string' && orgId !== undefined && Object.values(content.data).some(isSealed)
    const key = isSealing ? await keyOrNone(vault, orgId, subjectId) : 'destroyed'
    const sealedMembers =
      key === 'destroyed' ? Object.keys(content.data).filter((name) => isSealed(content.data[name])) : []
    const data = publicContent(schema, opened(head, content.data, key))
    const openedBy = key === 'destroyed' ? undefined : subject
    return { ...head, metadata, occurredAt: occurredAtOf(head, data), data, sealedMembers, openedBy }
  }
}

async function keyOrNone(vault: KeyVault, orgId: string, subjectId: string): Promise<SubjectKey> {
  try {
    return await vault.subjectKeyForReading(orgId, subjectId)
  } catch (error) {
    if (error instanceof MissingKeyError) return 'destroyed'
    throw error
  }
}

function isSignedBy(keys: EventKeys, head: EventHead, event: StoredEvent): boolean | Promise<boolean> {
  const { created, dataBytes, metadataBytes } = event
  return keys.isSigned({ ...head, created, dataBytes, metadataBytes })
}

function signedContent(head: EventHead, event: StoredEvent, isSigned: boolean): Content | undefined {
  try {
    return checkedContent(head, event, isSigned)
  } catch (error) {
    if (error instanceof UndecodableEventError) return undefined
    throw error
  }
}

/** `CaseOpened` has `openedAt`. Other types name the instant of the fact in their last member of that kind. */
function occurredAtOf({ type, recordedAt }: EventHead, data: JsonObject): string {
  const [participle = ''] = /[A-Z][a-z]+$/.exec(type) ?? []
  const instants = Object.keys(data).filter((name) => name.endsWith('At') && !laterInstants.test(name))
  const name = [`${participle.toLowerCase()}At`].find((own) => instants.includes(own)) ?? instants.at(-1)
  const instant = name === undefined ? undefined : data[name]
  return typeof instant === 'string' ? instant : recordedAt
}

/** Instants of plans, not of the fact. */
const laterInstants = /^(?:next[A-Za-z]+|closes|deadline|retry|review|disable|expires)At$/

interface Content {
  readonly data: JsonObject
  readonly metadata: EventMetadata
}

function checkedContent(head: EventHead, event: StoredEvent, isSigned: boolean): Content {
  const { data, metadata } = event
  // The client returns malformed JSON as a string and malformed metadata as bytes.
  if (!event.isJson || !isJsonObject(data) || !isMetadata(metadata)) throw new UndecodableEventError(head, 'malformed')
  if (!isSigned) throw new UndecodableEventError(head, 'signature')
  return { data, metadata }
}

async function fetchedKey(vault: KeyVault, head: EventHead, orgId: string, subjectId: string): Promise<SubjectKey> {
  try {
    return await vault.subjectKeyForReading(orgId, subjectId)
  } catch (error) {
    if (error instanceof MissingKeyError) throw new UndecodableEventError(head, 'key-missing', { cause: error })
    throw error
  }
}

function unopened({ stream, type }: EventHead, data: JsonObject, owner: Pick<SealedPlace, 'orgId' | 'subjectId'>) {
  const kept: JsonObject = {}
  for (const [member, value] of Object.entries(data)) {
    kept[member] = isSealed(value) ? Sealed.of({ ...owner, stream, type, member }, value) : value
  }
  return kept
}

function opened(head: EventHead, data: JsonObject, key: SubjectKey): JsonObject {
  const readable: JsonObject = {}
  for (const [member, value] of Object.entries(data)) {
    readable[member] = isSealed(value) ? openedMember(head, member, value, key) : value
  }
  return readable
}

function openedMember(head: EventHead, member: string, value: { readonly $phi: string }, key: SubjectKey): unknown {
  if (key === 'destroyed') return null
  try {
    return openMember(key, memberPlace(head.stream, head.type, member), value)
  } catch (error) {
    throw new UndecodableEventError(head, 'decryption', { cause: error })
  }
}

function newestShape(head: EventHead, entry: CatalogueEntry, data: JsonObject, storedVersion: number): unknown {
  const { version, upcasters } = entry.definition
  if (storedVersion > version) throw new UndecodableEventError(head, 'newer-version')
  let shaped: unknown = data
  for (let from = storedVersion; from < version; from += 1) {
    try {
      shaped = upcasters?.[from]?.(shaped)
    } catch (error) {
      throw new UndecodableEventError(head, 'upcaster', { cause: error })
    }
  }
  return shaped
}

function isMetadata(value: unknown): value is EventMetadata {
  return (
    isJsonObject(value) &&
    typeof value['commandId'] === 'string' &&
    typeof value['$correlationId'] === 'string' &&
    typeof value['signature'] === 'string' &&
    typeof value['schemaVersion'] === 'number'
  )
}
