import { isDefined, type ConsentTypeState } from '../../streams/consent-type/aggregate.ts'
import type { ConsentTypeEvent } from '../../streams/consent-type/events.ts'
import { refused, repeated, type Decision } from '../../engine/commands/decision.ts'
import type { DataOf } from '../../engine/store/events.ts'

/** The fingerprint covers key and body. The key does not determine the id, so another key is another request. */
export interface CreateConsentType extends Omit<DataOf<ConsentTypeEvent, 'ConsentTypeCreated'>, 'createdAt'> {
  readonly now: Date
}

/** The id derives from the code. If the stream exists, the code is taken, possibly by a deleted type. */
export function createConsentType(
  command: CreateConsentType,
  state: ConsentTypeState,
): Decision<ConsentTypeEvent, 'consent-type-code-in-use'> {
  const { now, ...data } = command
  if (state.status !== 'absent') {
    const isRepeat = command.fingerprint !== null && command.fingerprint === state.fingerprint
    return isRepeat ? [] : refused('consent-type-code-in-use')
  }
  return [{ type: 'ConsentTypeCreated', data: { ...data, createdAt: now.toISOString() } }]
}

export interface UpdateConsentType {
  /** Undefined members stay unchanged. */
  readonly displayName?: string | undefined
  readonly description?: string | null | undefined
  readonly required?: boolean | undefined
  readonly now: Date
}

/** Changes the description of a type, never its code, its legal basis or a text. */
export function updateConsentType(
  command: UpdateConsentType,
  state: ConsentTypeState,
): Decision<ConsentTypeEvent, 'not-found'> {
  if (!isDefined(state)) return refused('not-found')
  const { displayName = state.displayName, description = state.description, required = state.required } = command
  if (displayName === state.displayName && description === state.description && required === state.required) return []
  const data = { consentTypeId: state.consentTypeId, displayName, description, required }
  return [{ type: 'ConsentTypeUpdated', data: { ...data, updatedAt: command.now.toISOString() } }]
}

/**
 * A soft delete: the stream stays, and the code stays taken. Before the first decision on a type, its own stream
 * records that it is used. So this stream alone orders the deletion and the first use.
 */
export function deleteConsentType(
  { now }: { now: Date },
  state: ConsentTypeState,
): Decision<ConsentTypeEvent, 'not-found' | 'consent-type-in-use'> {
  if (!isDefined(state)) return refused('not-found')
  if (state.isUsed) return refused('consent-type-in-use')
  return [{ type: 'ConsentTypeDeleted', data: { consentTypeId: state.consentTypeId, deletedAt: now.toISOString() } }]
}

/** Marks the type as used before its first decision is recorded. */
export function useConsentType(
  { now }: { now: Date },
  state: ConsentTypeState,
): Decision<ConsentTypeEvent, 'consent-type-not-found'> {
  if (!isDefined(state)) return refused('consent-type-not-found')
  if (state.isUsed) return []
  return [{ type: 'ConsentTypeUsed', data: { consentTypeId: state.consentTypeId, usedAt: now.toISOString() } }]
}

export interface PublishTextVersion extends Omit<
  DataOf<ConsentTypeEvent, 'ConsentTextVersionPublished'>,
  'effectiveFrom' | 'createdAt'
> {
  /** Null: from now on. */
  readonly effectiveFrom: Date | null
  readonly now: Date
}

/** Every decision on the type reads its texts. */
const mostTexts = 1_000

/** A version is immutable. One locale has one version per instant. */
export function publishTextVersion(
  command: PublishTextVersion,
  state: ConsentTypeState,
): Decision<ConsentTypeEvent, 'not-found' | 'text-version-exists' | 'text-version-limit' | 'idempotency-key-reused'> {
  if (state.status === 'absent') return refused('not-found')
  const existing = state.textVersions.find((version) => version.textVersionId === command.textVersionId)
  if (existing !== undefined) return repeated(command, existing)
  if (state.status === 'deleted') return refused('not-found')

  const { now, ...version } = command
  const effectiveFrom = (version.effectiveFrom ?? now).toISOString()
  const isTaken = state.textVersions.some(
    (other) => other.locale === version.locale && other.effectiveFrom === effectiveFrom,
  )
  if (isTaken) return refused('text-version-exists')
  if (state.textVersions.length >= mostTexts) return refused('text-version-limit')
  return [{ type: 'ConsentTextVersionPublished', data: { ...version, effectiveFrom, createdAt: now.toISOString() } }]
}
