import { Type, type Static } from 'typebox'
import { CausingRequest, Id, Instant, Nullable, OrgId } from '../../engine/aggregates/types.ts'
import { defineEvent, Phi, type EventOf } from '../../engine/store/schema.ts'

export const ErasureReason = Type.Enum([
  'person_request',
  'retention_ended',
  'legal_obligation',
  'registered_by_mistake',
])
export type ErasureReason = Static<typeof ErasureReason>

/** The parts of an erasure, each with a result of its own. `keys_destroyed` comes after those before it. */
export const ErasureStep = Type.Enum([
  'work_ended',
  'identifiers_released',
  'account_unlinked',
  'objects_deleted',
  'late_objects_deleted',
  'keys_destroyed',
  'ledger_written',
  'vault_rewritten',
])
export type ErasureStep = Static<typeof ErasureStep>

/** A status, a code of a system or a slug of the program, never a text from outside. */
const ErrorCode = Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' })
/** The user or the client. */
const By = Type.String()

/** Version 1 of `PatientErasureRequested` did not contain its key. */
const requestedUpcasters = { 1: (data: unknown) => ({ ...Object(data), request: null }) }

export const patientErasureEvents = {
  PatientErasureRequested: defineEvent(
    'PatientErasureRequested',
    Type.Object({
      patientId: Id,
      organisationId: OrgId,
      reason: ErasureReason,
      /** Of the caller, free of personal content. */
      reference: Nullable(Type.String()),
      /** Persons who must agree, the first one included. The request keeps the rule under which it was made. */
      approvals: Type.Integer({ minimum: 1, maximum: 2 }),
      requestedBy: By,
      request: CausingRequest,
      requestedAt: Instant,
    }),
    { version: 2, upcasters: requestedUpcasters },
  ),
  /**
   * A request with a key while another one waits for approval: that one answers it, also when it is repeated. Or a request
   * with another reason or reference, also after the erasure has begun.
   */
  PatientErasureJoined: defineEvent(
    'PatientErasureJoined',
    Type.Object({
      patientId: Id,
      reason: ErasureReason,
      reference: Nullable(Type.String()),
      joinedBy: By,
      request: CausingRequest,
      joinedAt: Instant,
    }),
  ),
  PatientErasureApproved: defineEvent(
    'PatientErasureApproved',
    Type.Object({ patientId: Id, approvedBy: By, request: CausingRequest, approvedAt: Instant }),
  ),
  PatientErasureCancelled: defineEvent(
    'PatientErasureCancelled',
    Type.Object({ patientId: Id, cancelledBy: By, request: CausingRequest, cancelledAt: Instant }),
  ),
  /** From here on nothing new about the patient is recorded. */
  PatientErasureStarted: defineEvent(
    'PatientErasureStarted',
    Type.Object({ patientId: Id, organisationId: OrgId, startedAt: Instant }),
  ),
  PatientErasureStepDone: defineEvent(
    'PatientErasureStepDone',
    Type.Object({ patientId: Id, step: ErasureStep, doneAt: Instant }),
  ),
  /** Recorded when the code changes, not for each try. */
  PatientErasureStepFailed: defineEvent(
    'PatientErasureStepFailed',
    Type.Object({ patientId: Id, step: ErasureStep, errorCode: ErrorCode, failedAt: Instant }),
  ),
  /** Nothing can be read about the patient any more. */
  SubjectErased: defineEvent('SubjectErased', Type.Object({ patientId: Id, organisationId: OrgId, erasedAt: Instant })),
  /** While it is in force, no erasure is requested or approved. A later one replaces it. */
  LegalHoldPlaced: defineEvent(
    'LegalHoldPlaced',
    Type.Object({
      patientId: Id,
      organisationId: OrgId,
      reason: Phi(Type.String()),
      /** The hold ends then by itself. Null: when it is released. */
      until: Nullable(Instant),
      placedBy: By,
      placedAt: Instant,
    }),
    { subject: 'patientId' },
  ),
  LegalHoldReleased: defineEvent(
    'LegalHoldReleased',
    Type.Object({ patientId: Id, releasedBy: By, releasedAt: Instant }),
  ),
} as const

export type PatientErasureEvent = EventOf<typeof patientErasureEvents>
