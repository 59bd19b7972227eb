import type { ConsentTypeEvent } from '../../streams/consent-type/events.ts'
import type { ConsentTypeState } from '../../streams/consent-type/aggregate.ts'
import { refuse, repeated, type Decision } from '../handling/decision.ts'

export interface PublishTextVersion {
  readonly consentTypeId: string
  readonly textVersionId: string
  readonly locale: string
  readonly text: string
  readonly contentHash: string
  /** Null: from now on. */
  readonly effectiveFrom: Date | null
  readonly now: Date
  readonly fingerprint: string | null
}

/** A version is immutable; one locale has one version per instant. */
export function publishTextVersion(command: PublishTextVersion, state: ConsentTypeState): Decision<ConsentTypeEvent> {
  if (state.status === 'absent') return refuse('not-found')
  const existing = state.textVersions.find((version) => version.textVersionId === command.textVersionId)
  if (existing !== undefined) return repeated(command, existing)
  if (state.status === 'deleted') return refuse('not-found')

  const { consentTypeId, textVersionId, locale, text, contentHash, fingerprint } = command
  const effectiveFrom = (command.effectiveFrom ?? command.now).toISOString()
  const isTaken = state.textVersions.some(
    (version) => version.locale === locale && version.effectiveFrom === effectiveFrom,
  )
  if (isTaken) return refuse('text-version-exists')
  const createdAt = command.now.toISOString()
  const data = { consentTypeId, textVersionId, locale, text, contentHash, effectiveFrom, createdAt, fingerprint }
  return [{ type: 'ConsentTextVersionPublished', data }]
}
