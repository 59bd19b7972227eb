import type { PageRequest, PageRows } from '../../platform/http/cursors.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import type {
  EndpointState,
  FailureGroup,
  OperationsHealth,
  Overview,
  ProjectionState,
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

/** What operators see of the whole installation. Routes and commands give these answers. */
export interface Operations {
  /** The processes of the program, with their steps. */
  readonly processes: ReadonlyMap<string, readonly string[]>
  overview(): Promise<Overview>
  health(): Promise<OperationsHealth>
  /** The oldest first. */
  work(filter: WorkFilter, page: PageRequest): Promise<PageRows<WorkItem>>
  workItem(orgId: TenantId | null, id: string): Promise<WorkItem | undefined>
  /** Read models and to-do lists by name. */
  projections(): Promise<readonly ProjectionState[]>
  /** The receivers of webhooks. */
  endpoints(orgId: TenantId | null, page: PageRequest): Promise<PageRows<EndpointState>>
  /** The largest first, at most a thousand. */
  groups(orgId: TenantId | null): Promise<readonly FailureGroup[]>
}
