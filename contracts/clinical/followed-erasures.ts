import { parseOwnedStream } from '../../engine/aggregates/aggregate.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { RecordedEvent } from '../../engine/store/events.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import type { Logger } from '../../platform/observability/logging.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import { patientErasures } from '../../streams/patient-erasure/aggregate.ts'
import type { PatientErasureEvent } from '../../streams/patient-erasure/events.ts'

export interface PatientErasuresOptions {
  readonly store: Pick<EventStore, 'subscribeToAll' | 'forgetStates'>
  readonly vault: Pick<Vault, 'closeSubject' | 'forgetSubject'>
  readonly logger?: Logger
}

/** The destruction of a patient's key. */
export interface DestroyedKey {
  readonly orgId: TenantId
  readonly patientId: string
  /** RFC 3339 */
  readonly destroyedAt: string
}

export interface FollowedPatientErasures {
  /** Resolves when every erasure so far is known. Rejects if the event store refuses the subscription. */
  readonly caughtUp: Promise<void>
  /** Those of the four days before the newest one that this process knows of, oldest first, each as the same object. */
  destroyedKeys(): Iterable<DestroyedKey>
  close(): Promise<void>
}

/** The list of destroyed keys stays short, however many patients were erased. The sweep looks back three days. */
const keptMs = 4 * 86_400_000

/**
 * Follows the erasures of patients from the first one on. From its start nothing about the patient is recorded or
 * shown here. When its key is destroyed, this process drops the key and every decrypted state.
 */
export function followPatientErasures({ store, vault, logger }: PatientErasuresOptions): FollowedPatientErasures {
  const closing = new AbortController()
  const firstCatchUp = Promise.withResolvers<void>()
  let hasCaughtUp = false
  const destroyed: DestroyedKey[] = []
  const subscription = store.subscribeToAll({
    name: 'erasures of patients',
    filter: { streamPrefixes: [`${patientErasures.category}-`] },
    from: 'start',
    signal: closing.signal,
    onEvent: ({ type, data, stream }: RecordedEvent) => {
      // The filter and the catalogue decide which types a stream of this category holds.
      const event = { type, data } as PatientErasureEvent
      const { orgId, id } = parseOwnedStream(stream)
      if (event.type === 'PatientErasureStarted') vault.closeSubject(orgId, id)
      if (event.type === 'PatientErasureStepDone' && event.data.step === 'keys_destroyed') {
        vault.forgetSubject(orgId, id)
        const { doneAt } = event.data
        destroyed.push({ orgId, patientId: id, destroyedAt: doneAt })
        while (Date.parse(destroyed[0]?.destroyedAt ?? doneAt) < Date.parse(doneAt) - keptMs) destroyed.shift()
        // Before that, there is no state in memory.
        if (hasCaughtUp) store.forgetStates()
      }
    },
    onCaughtUp: () => {
      hasCaughtUp = true
      firstCatchUp.resolve()
    },
    // It may be the start of an erasure.
    onUndecodable: ({ stream }) => {
      const { orgId, id } = parseOwnedStream(stream)
      vault.closeSubject(orgId, id)
    },
    onError: (error) => {
      firstCatchUp.reject(error)
      logger?.error({ component: 'erasures', err: error }, 'erasures of patients are no longer followed')
    },
  })
  firstCatchUp.promise.catch(() => undefined)
  return {
    caughtUp: firstCatchUp.promise,
    destroyedKeys: () => destroyed,
    async close() {
      closing.abort()
      firstCatchUp.reject(closing.signal.reason)
      await subscription.ended.catch(() => undefined)
    },
  }
}
