import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'
import { FailureOfWork, OperatorAction, OperatorActor, ProjectionVerb } from '../../streams/operations/events.ts'
import { DisabledReason, SubscriptionStatus } from '../../streams/webhook-subscriptions/events.ts'
import { outsideSystems } from '../../platform/outbound/outside-calls.ts'

/** What the operators of the installation see. No schema here has a member with a text from outside, or a name of a person. */
const count = Type.Integer({ minimum: 0 })

export const OperationsError = Type.Object(
  {
    class: Type.String({
      description:
        'The class of the error in the program. `put_off`: the step waits for something. `attempt_failed`: the work itself recorded that its attempt failed. `Answer`: the system answered so',
    }),
    code: Nullable(
      Type.String({ description: 'An HTTP status, SQLSTATE, errno, SMTP or gRPC status, or a code of the program' }),
    ),
    host: Nullable(Type.String({ description: 'The server that was called, with a port that is not the usual one' })),
  },
  { $id: 'OperationsError' },
)

export const WorkKind = FailureOfWork.properties.kind
export type WorkKind = Static<typeof WorkKind>
export const workStates = ['due', 'waiting', 'leased', 'failing', 'parked', 'failed'] as const
export const WorkState = Type.Enum([...workStates])
export type WorkState = Static<typeof WorkState>

export const WorkItem = Type.Object(
  {
    id: Uuid,
    kind: WorkKind,
    process: Type.String(),
    step: Type.String(),
    org_id: Nullable(Uuid),
    subject: Nullable(Type.Object({ kind: Type.String(), id: Uuid }), { description: 'The record that it is about' }),
    state: Type.Enum([...workStates], {
      description:
        '`waiting`: nothing failed, its time has not come. `leased`: a worker has it. `failing`: the last run threw or was put off, or the last recorded attempt failed; a try follows. `parked`: too many runs in a row threw, so it is tried seldom. `failed`: it ended so, shown for `FAILED_RETENTION_SECONDS`; of AI reviews those that a system outside failed',
    }),
    failures: Type.Integer({ minimum: 0, description: 'Tries that failed' }),
    first_failed_at: Nullable(Instant),
    last_failed_at: Nullable(Instant),
    due_at: Type.String({ ...Instant, description: 'If it has failed: when it ended' }),
    next_try_at: Nullable(Instant, { description: 'Null if it has failed' }),
    lease_until: Nullable(Instant),
    error: Nullable(OperationsError),
    version: Nullable(Type.String({ description: 'The version of the program that failed' })),
    group_id: Nullable(Uuid, { description: 'The failure group' }),
    correlation_id: Nullable(Type.String()),
    retryable: Type.Boolean({
      description:
        'It fails, and a retry gives it its next try now. An AI review whose provider failed is never retryable',
    }),
  },
  { $id: 'WorkItem' },
)
export type WorkItem = Static<typeof WorkItem>

export const Retry = Type.Object(
  {
    id: Uuid,
    requested_at: Instant,
    actor: OperatorActor,
    reason: Nullable(Type.String()),
    total: Type.Integer({ minimum: 0, description: 'Items at the request' }),
    waiting: Type.Integer({ minimum: 0, description: 'Items whose try has no outcome yet' }),
    done: count,
    failed_again: Type.Integer({
      minimum: 0,
      description: 'Items that failed again. They go on by their own schedule',
    }),
    ended_at: Nullable(Instant, { description: 'Null while items are waiting' }),
  },
  { $id: 'OperationsRetry' },
)
export type Retry = Static<typeof Retry>

const retry = Nullable(Retry, { description: 'The newest, for a day' })

export const WorkDetail = Type.Object({ ...WorkItem.properties, retry }, { $id: 'WorkDetail' })
export type WorkDetail = Static<typeof WorkDetail>

export const FailureGroup = Type.Object(
  {
    id: Uuid,
    kind: WorkKind,
    process: Type.String(),
    step: Type.String(),
    error: OperationsError,
    count,
    states: Type.Object({ failing: count, parked: count, failed: count }),
    organisations: Type.Integer({ minimum: 0, description: 'How many organisations have items in it' }),
    first_failed_at: Instant,
    last_failed_at: Instant,
    versions: Type.Array(Type.String(), { description: 'Versions of the program that failed' }),
    retryable: Type.Boolean({ description: 'False for the group of class `other`, of AI reviews, and without items' }),
    example: Nullable(WorkItem, { description: 'Null if no item is left. The group stays for an hour after a retry' }),
    retry,
  },
  { $id: 'FailureGroup' },
)
export type FailureGroup = Static<typeof FailureGroup>

export const ActionRecord = Type.Object(
  {
    id: Uuid,
    at: Instant,
    action: OperatorAction,
    actor: OperatorActor,
    subject: Type.Object({ kind: Type.String(), id: Type.String() }),
    reason: Nullable(Type.String()),
    count: Type.Integer({
      minimum: 0,
      description: 'Items of a retry, uses of the administrator secret, or faults that a verification of the log found',
    }),
  },
  { $id: 'OperatorAction' },
)
export type ActionRecord = Static<typeof ActionRecord>

const CheckStatus = Type.Enum(['ok', 'warning', 'failing'])

const livingProcess = {
  id: Uuid,
  roles: Type.Array(Type.String()),
  version: Type.String(),
  profile: Type.String(),
  started_at: Instant,
  seen_at: Instant,
  status: Type.Enum(['running', 'silent'], { description: '`silent`: no sign of life for 15 seconds' }),
}

export const OperationsHealth = Type.Object(
  {
    status: CheckStatus,
    processes: Type.Array(
      Type.Object({
        ...livingProcess,
        checks: Type.Array(
          Type.Object({ name: Type.String(), status: CheckStatus, detail: Nullable(Type.String()), since: Instant }),
        ),
      }),
    ),
  },
  { $id: 'OperationsHealth' },
)
export type OperationsHealth = Static<typeof OperationsHealth>

const Position = Type.String({ description: '`commit/prepare`' })

export const ProjectionOperation = Type.Object(
  {
    id: Uuid,
    action: ProjectionVerb,
    status: Type.Enum(['requested', 'running', 'done', 'different', 'failed'], {
      description: '`different`: the copy by the log has other rows, and does not serve',
    }),
    progress: Nullable(Type.Number({ minimum: 0, maximum: 1, description: 'The part of the log that is read' })),
    requested_at: Instant,
    actor: OperatorActor,
    detail: Nullable(Type.String({ description: 'Why it failed, or the first table that differs' })),
  },
  { $id: 'ProjectionOperation' },
)
export type ProjectionOperation = Static<typeof ProjectionOperation>

export const ProjectionState = Type.Object(
  {
    name: Type.String(),
    version: Nullable(Type.Integer()),
    program_version: Nullable(Type.Integer(), { description: 'Null for one that this program does not have' }),
    status: Type.Enum(['running', 'failed', 'catching-up', 'stopped', 'unseen'], {
      description: '`unseen`: no process has ever run it',
    }),
    position: Nullable(Position),
    events_behind: Nullable(Type.Integer({ minimum: 0 }), {
      description: 'At most 1000 are counted. Null while the event store is away',
    }),
    seconds_since_move: Nullable(Type.Integer({ minimum: 0 })),
    failure: Nullable(
      Type.Object({ event_id: Uuid, event_type: Type.String(), position: Position, reason: Type.String() }),
    ),
    copies: Type.Array(
      Type.Object({ kind: Type.Enum(['next', 'previous', 'check']), version: Type.Integer(), position: Position }),
    ),
    operation: Nullable(ProjectionOperation, { description: 'The newest' }),
  },
  { $id: 'ProjectionState' },
)
export type ProjectionState = Static<typeof ProjectionState>

export const EndpointState = Type.Object(
  {
    id: Uuid,
    org_id: Uuid,
    host: Type.String({ description: 'With a port that is not the usual one' }),
    status: SubscriptionStatus,
    disabled_reason: Nullable(DisabledReason),
    failing_since: Nullable(Instant, { description: 'The first failure after which nothing was delivered' }),
    last_success_at: Nullable(Instant),
    pending: Type.Integer({ minimum: 0, description: 'Deliveries, at most 10000 are counted' }),
    failed: Type.Integer({ minimum: 0, description: 'Deliveries, at most 10000 are counted' }),
  },
  { $id: 'EndpointState' },
)
export type EndpointState = Static<typeof EndpointState>

export const RelayState = Type.Object(
  {
    channel: Type.String(),
    state: Type.Enum(['standby', 'running', 'blocked', 'closed'], { description: '`closed`: no process runs it' }),
    position: Nullable(Position, { description: 'The channel contains everything of its sources up to here' }),
    seconds_since_move: Nullable(Type.Integer({ minimum: 0 })),
  },
  { $id: 'RelayState' },
)
export type RelayState = Static<typeof RelayState>

export const SealState = Type.Object(
  {
    size: Type.Integer({ minimum: 0, description: 'Events of the newest seal' }),
    position: Position,
    sealed_at: Instant,
    lag_seconds: Type.Integer({ minimum: 0, description: 'Since the seal, while events follow it. 0 if none does' }),
    witnesses: Type.Array(Type.Object({ name: Type.String(), size: count }), {
      description: 'The witnesses of the newest seal that enough of them signed, with its number of events',
    }),
    last_verification: Nullable(
      Type.Object({
        at: Instant,
        size: Type.Integer({ minimum: 0, description: 'Sealed events that were compared' }),
        faults: count,
        actor: OperatorActor,
      }),
      { description: 'The newest end of `platform audit verify`, whichever process ran it' },
    ),
  },
  { $id: 'SealState' },
)
export type SealState = Static<typeof SealState>

export const SubjectKind = Type.Enum(['assessment', 'case', 'ai_review', 'task', 'delivery', 'notification'])
export type SubjectKind = Static<typeof SubjectKind>

export const SubjectStage = Type.Object(
  {
    name: Type.String({
      description:
        'Of an assessment: `accepted`, `images`, `consent`, `provider`, `result`, `findings`, `human_review`, `webhooks`, `notifications`. Other subjects have those of these that concern them, and `opened`, `opinions`, `decided`, `closed`, `sent`',
    }),
    status: Type.Enum(['done', 'running', 'waiting', 'failed', 'skipped'], {
      description:
        '`waiting`: it has not begun, or waits for somebody else. `skipped`: nothing was to be done, or the subject ended before',
    }),
    started_at: Nullable(Instant),
    ended_at: Nullable(Instant),
    attempts: Type.Integer({ minimum: 0, description: 'Calls of outside systems, also those that failed' }),
    error: Nullable(OperationsError, { description: 'Of the newest attempt that failed, until one succeeds' }),
  },
  { $id: 'SubjectStage' },
)
export type SubjectStage = Static<typeof SubjectStage>

const SubjectReference = Type.Object({ kind: SubjectKind, id: Uuid })
export type SubjectReference = Static<typeof SubjectReference>

export const SubjectState = Type.Object(
  {
    ...SubjectReference.properties,
    org_id: Uuid,
    status: Type.String({ description: 'As the record of the subject shows it' }),
    error_code: Nullable(Type.String()),
    created_at: Instant,
    ended_at: Nullable(Instant),
    stages: Type.Array(SubjectStage, { description: 'In the order in which a subject passes them' }),
    work: Type.Array(WorkItem, {
      description: 'What is due for it and for what is related, the oldest first, at most 20',
    }),
    related: Type.Array(SubjectReference, { description: 'At most 100' }),
  },
  { $id: 'OperationsSubject' },
)
export type SubjectState = Static<typeof SubjectState>

export const problemCodes = [
  'check-failing',
  'calls-held',
  'role-missing',
  'process-silent',
  'projection-failed',
  'projection-behind',
  'relay-blocked',
  'work-failing',
  'work-late',
  'system-failing',
  'endpoint-disabled',
  'seal-late',
] as const

const Problem = Type.Object({
  code: Type.Enum([...problemCodes]),
  severity: Type.Enum(['warning', 'failing']),
  subject: Type.String({ description: 'A name of the program, or the id of a process or failure group' }),
  since: Nullable(Instant),
  count: Type.Integer({ minimum: 1 }),
  page: Type.String({ description: 'An address of the console, without its host' }),
  runbook: Type.String({ description: 'A heading of docs/operating.md' }),
})
export type OperationsProblem = Static<typeof Problem>

export const Overview = Type.Object(
  {
    at: Instant,
    status: CheckStatus,
    problems: Type.Array(Problem, { description: 'The worst first' }),
    systems: Type.Array(
      Type.Object({
        name: Type.Enum([...outsideSystems]),
        status: Type.Enum(['ok', 'failing', 'unused'], {
          description: '`failing`: three calls in a row failed, seen by any process',
        }),
        last_success_at: Nullable(Instant),
        failing_since: Nullable(Instant),
        failures: Type.Integer({ minimum: 0, description: 'Calls that failed since the last success' }),
        error: Nullable(OperationsError),
      }),
    ),
    steps: Type.Object({ due: count, waiting: count, leased: count, failing: count, parked: count, failed: count }),
    lag: Nullable(
      Type.Object({
        projector: Type.String(),
        events: Type.Integer({ minimum: 0, description: 'At most 1000 are counted' }),
        seconds: Type.Integer({ minimum: 0, description: 'Since it last moved' }),
      }),
      { description: 'The read model or to-do list that is furthest behind the log. Null if none is behind' },
    ),
    oldest_work: Nullable(Type.Object({ process: Type.String(), step: Type.String(), since: Instant }), {
      description: 'The work that has been due for longest, whether it failed or not',
    }),
    seal: Nullable(SealState, { description: 'Null before the first seal, and while the event store is away' }),
    processes: Type.Array(Type.Object(livingProcess)),
    rates: Type.Array(
      Type.Object({
        minute: Instant,
        requests: count,
        errors: Type.Integer({ minimum: 0, description: 'Answers with HTTP 5xx, but not 501' }),
        p50_ms: Nullable(Type.Number({ minimum: 0 })),
        p99_ms: Nullable(Type.Number({ minimum: 0 })),
        assessments: Type.Integer({ minimum: 0, description: 'Completed' }),
        assessments_failed: count,
        deliveries: Type.Integer({ minimum: 0, description: 'Of webhooks, accepted by their receivers' }),
        deliveries_failed: Type.Integer({ minimum: 0, description: 'Without a further try' }),
        notifications: Type.Integer({ minimum: 0, description: 'Sent' }),
        notifications_failed: Type.Integer({ minimum: 0, description: 'Without a further try' }),
      }),
      { description: 'The last 60 minutes, the oldest first. The last one is not over' },
    ),
  },
  { $id: 'OperationsOverview' },
)
export type Overview = Static<typeof Overview>
