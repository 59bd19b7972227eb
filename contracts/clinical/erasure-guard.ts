import { isOwnedStream, parseOwnedStream } from '../../engine/aggregates/aggregate.ts'
import type { GuardedAppend } from '../../engine/store/event-store.ts'
import { problem } from '../../platform/http/problems.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import { patientErasures } from '../../streams/patient-erasure/aggregate.ts'

/**
 * Refuses what callers record about a patient whose erasure has begun. Processes go on: they end what is open, and their
 * personal members are stored as null.
 * @returns a guard that throws Problem `subject-erased`
 */
export function createErasureGuard(vault: Pick<Vault, 'isClosed'>): (append: GuardedAppend) => void {
  return ({ stream, events, context, state }) => {
    if (context.process !== undefined || !isOwnedStream(stream)) return
    const { category, orgId } = parseOwnedStream(stream)
    if (category === patientErasures.category) return
    for (const named of [state, ...events.map(({ data }) => data)]) {
      const patientId = patientOf(named)
      if (patientId !== undefined && vault.isClosed(orgId, patientId)) throw problem('subject-erased')
    }
  }
}

/** The patient that a state or the data of an event names. */
function patientOf(value: unknown): string | undefined {
  const { patientId, phiKeyOwner, phiSubject }: Readonly<Record<string, unknown>> = Object(value)
  if (typeof patientId === 'string') return patientId
  return phiKeyOwner === 'organisation' && typeof phiSubject === 'string' ? phiSubject : undefined
}
