import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'
import { personal } from '../../platform/kit/personal-content.ts'
import type { Erasure, LegalHold } from '../../streams/patient-erasure/aggregate.ts'
import { ErasureStep } from '../../streams/patient-erasure/events.ts'

export const ErasureRecord = Type.Object(
  {
    patient_id: Uuid,
    status: Type.Enum(['awaiting_approval', 'running', 'completed', 'cancelled']),
    requested_at: Instant,
    steps: Type.Array(
      Type.Object({
        name: ErasureStep,
        done_at: Nullable(Instant),
        error_code: Nullable(Type.String({ description: 'Of the last try, if it failed. More tries follow' })),
      }),
    ),
    backups_until: Nullable(Instant, {
      description: 'When the last backup that can still read the data ends. Null before the keys are destroyed',
    }),
  },
  { $id: 'ErasureRecord' },
)
export type ErasureRecord = Static<typeof ErasureRecord>

/** @param retentionDays how long backups are kept */
export function toErasureRecord(erasure: Erasure, retentionDays: number): ErasureRecord {
  const destroyedAt = erasure.steps.get('keys_destroyed')?.doneAt ?? null
  return {
    patient_id: erasure.patientId,
    status: erasure.status,
    requested_at: erasure.requestedAt,
    steps: ErasureStep.enum.map((name) => {
      const { doneAt = null, errorCode = null } = erasure.steps.get(name) ?? {}
      return { name, done_at: doneAt, error_code: errorCode }
    }),
    backups_until:
      destroyedAt === null ? null : new Date(Date.parse(destroyedAt) + retentionDays * 86_400_000).toISOString(),
  }
}

export const LegalHoldRecord = Type.Object(
  {
    reason: Nullable(Type.String({ ...personal('record') })),
    until: Nullable(Instant),
    placed_at: Instant,
    placed_by: Type.String({ description: 'The user, or the client' }),
  },
  { $id: 'LegalHoldRecord' },
)
export type LegalHoldRecord = Static<typeof LegalHoldRecord>

export function toLegalHoldRecord({ reason, until, placedAt, placedBy }: LegalHold): LegalHoldRecord {
  return { reason, until, placed_at: placedAt, placed_by: placedBy }
}
