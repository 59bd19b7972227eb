import type { PageRequest, PageRows } from '../../platform/http/cursors.ts'
import type { Position, StreamRevision } from '../../platform/kit/positions.ts'
import type { CommandContext, TenantId } from '../../platform/kit/tenants.ts'
import type { OperatorActor, ProjectionOrder } from '../../streams/operations/events.ts'
import type {
  EndpointState,
  FailureGroup,
  OperationsHealth,
  Overview,
  ProjectionOperation,
  ProjectionState,
  RelayState,
  SealState,
  SubjectState,
  Retry,
  WorkDetail,
  WorkItem,
  WorkKind,
  WorkState,
} from './record.ts'

export interface WorkFilter {
  readonly orgId: TenantId | null
  readonly kind?: WorkKind | undefined
  readonly process?: string | undefined
  readonly step?: string | undefined
  readonly states?: readonly WorkState[] | undefined
  /** Only the items of this failure group. */
  readonly failingWith?: string | undefined
}

export interface RetryOrder {
  /** A repeat with the same id begins no other retry. */
  readonly id: string
  readonly target: { readonly kind: 'step' | 'group'; readonly id: string }
  /** Only work of this organisation. */
  readonly orgId: TenantId | null
  readonly reason: string | null
  readonly actor: OperatorActor
  readonly context: CommandContext
}

export interface ProjectionOperationOrder extends Pick<RetryOrder, 'id' | 'reason' | 'actor' | 'context'> {
  readonly projector: string
  readonly projection: ProjectionOrder
}

export interface RequestedProjectionOperation extends Pick<RequestedRetry, 'recorded'> {
  readonly operation: ProjectionOperation
}

export interface RequestedRetry {
  readonly retry: Retry
  /** Undefined if the retry has been requested before. */
  readonly recorded: { readonly revision: StreamRevision; readonly position: Position } | undefined
}

/**
 * One subject on its way through the stages. Undefined for an unknown id.
 * @throws Problem `subject-erased`, `user-erased`
 */
export type FindSubject = (orgId: TenantId | null, id: string) => Promise<SubjectState | undefined>

/** What operators see of the whole installation. Routes and commands give these answers. */
export interface Operations {
  /** The processes of the program, with their steps. */
  readonly processes: ReadonlyMap<string, readonly string[]>
  overview(): Promise<Overview>
  health(): Promise<OperationsHealth>
  /** The oldest first. */
  work(filter: WorkFilter, page: PageRequest): Promise<PageRows<WorkItem>>
  workItem(orgId: TenantId | null, id: string): Promise<WorkDetail | undefined>
  /** Read models and to-do lists by name. */
  projections(): Promise<readonly ProjectionState[]>
  /** The relays of public channels, by channel. */
  relays(): Promise<readonly RelayState[]>
  /** The newest seal of the log. Null before the first one. */
  seal(): Promise<SealState | null>
  /** The receivers of webhooks. */
  endpoints(orgId: TenantId | null, page: PageRequest): Promise<PageRows<EndpointState>>
  /** The largest first, at most a thousand. */
  groups(orgId: TenantId | null): Promise<readonly FailureGroup[]>
  /**
   * Gives failing work one more try. The retry that runs for the target already is the answer to another request.
   * @throws Problem `not-found`, `step-not-failing`, `not-retryable`, `idempotency-key-reused`
   */
  retry(order: RetryOrder): Promise<RequestedRetry>
  /**
   * Has a projector process work on a read model.
   * @throws Problem `not-found`, `projection-busy`, `projection-not-there`, `skip-refused`, `idempotency-key-reused`
   */
  workOnProjection(order: ProjectionOperationOrder): Promise<RequestedProjectionOperation>
  /** By the id of the retry. */
  retryOf(id: string): Promise<Retry | undefined>
}
