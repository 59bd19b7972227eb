import { Type, type Static } from 'typebox'
import { Id, Instant, Nullable } from '../../engine/aggregates/types.ts'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'

export const ProjectionVerb = Type.Enum(['rebuild', 'verify', 'retry', 'rollback', 'skip'])
export type ProjectionVerb = Static<typeof ProjectionVerb>

export const OperatorAction = Type.Enum([
  'step.retry',
  'group.retry',
  'projection.rebuild',
  'projection.verify',
  'projection.retry',
  'projection.rollback',
  'projection.skip',
  'console.sign_in',
  'console.sign_out',
  'operator.create',
  'administrator_secret.use',
  'log.verify',
])
export type OperatorAction = Static<typeof OperatorAction>

/** `command`: the account of the operating system. `bootstrap`: the administrator's secret, which names nobody. */
export const OperatorActor = Type.Object({
  kind: Type.Enum(['user', 'client', 'command', 'bootstrap']),
  id: Nullable(Type.String({ minLength: 1, maxLength: 255 })),
})
export type OperatorActor = Static<typeof OperatorActor>

/** Work that fails with the same members is one failure group. */
export const FailureOfWork = Type.Object({
  kind: Type.Enum(['step', 'delivery', 'notification', 'ai_review']),
  process: Type.String(),
  step: Type.String(),
  errorClass: Type.String(),
  errorCode: Nullable(Type.String()),
  errorHost: Nullable(Type.String()),
})
export type FailureOfWork = Static<typeof FailureOfWork>

/** How a read model is worked on. */
export const ProjectionOrder = Type.Object({
  verb: ProjectionVerb,
  /** A rebuild switches also if the copies differ. */
  acceptsDifference: Type.Boolean(),
  /** `commit/prepare` of the event to skip. */
  position: Nullable(Type.String()),
})
export type ProjectionOrder = Static<typeof ProjectionOrder>

export const operationsEvents = {
  /** An operator did something to the installation. Appended before it takes effect. No text in it is about a person. */
  OperatorActionRecorded: defineEvent(
    'OperatorActionRecorded',
    Type.Object({
      /** The same for uses that count as one action. The newest `count` replaces the earlier ones. */
      actionId: Id,
      action: OperatorAction,
      actor: OperatorActor,
      subject: Type.Object({ kind: Type.String(), id: Type.String() }),
      /** Text of the operator. The interface declares it free of persons. */
      reason: Nullable(Type.String({ minLength: 1, maxLength: 500 })),
      count: Type.Integer({ minimum: 0 }),
      /** What a retry takes: the failing work of the subject. Null for other actions. */
      retried: Nullable(
        Type.Object({
          failure: FailureOfWork,
          /** Only work of this organisation. Null: of all. */
          orgId: Nullable(Id),
        }),
      ),
      /** Null for actions that are not about a read model. */
      projection: Nullable(ProjectionOrder),
      at: Instant,
    }),
  ),
} as const

export type OperationsEvent = EventOf<typeof operationsEvents>
