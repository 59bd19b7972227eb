import { Type } from 'typebox'
import { Check } from 'typebox/schema'
import {
  FailureGroup,
  OperationsHealth,
  Overview,
  WorkItem,
  WorkKind,
  WorkState,
} from '../../contracts/operations/record.ts'
import type { Operations } from '../../contracts/operations/operations.ts'
import { listRoute } from '../../engine/reads/list-route.ts'
import { readRoute, type ReadDependencies } from '../../engine/reads/read-route.ts'
import { answers } from '../../platform/http/answers.ts'
import { Uuid } from '../../platform/http/members.ts'
import { invalidMember, problem } from '../../platform/http/problems.ts'
import type { ServiceApp } from '../../platform/http/service.ts'

export interface OperationsRouteDependencies extends Pick<ReadDependencies, 'cursors'> {
  readonly operations: Operations
}

/** Only platform clients hold the scope. */
const access = { scopes: ['operations:read'] as const, alsoOfActor: true as const }
const shared = { access, tenancy: 'optional', servedBy: [] } as const

/** What operators see of the installation. The answers come from tables that every process writes. */
export function operationsRoutes(app: ServiceApp, deps: OperationsRouteDependencies): void {
  const { operations } = deps
  // No organisation narrows these two.
  const querystring = Type.Object({}, { additionalProperties: false })
  const overview = {
    operationId: 'readOperationsOverview',
    summary: 'What is wrong in the installation, since when, and what to do',
    querystring,
    response: answers({ 200: Overview }, []),
  }
  app.get('/overview', { config: { access }, schema: overview }, async () => operations.overview())
  const health = {
    operationId: 'readOperationsHealth',
    summary: 'The processes with their checks',
    querystring,
    response: answers({ 200: OperationsHealth }, []),
  }
  app.get('/health', { config: { access }, schema: health }, async () => operations.health())

  listRoute(app, deps, {
    ...shared,
    path: '/steps',
    operationId: 'listWork',
    summary: 'Work of all processes, the oldest first',
    query: {
      kind: Type.Optional(WorkKind),
      process: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      step: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      state: Type.Optional(Type.String({ maxLength: 64, description: 'One or several with commas' })),
      failing_with: Type.Optional(Type.String({ format: 'uuid', description: 'The id of a failure group' })),
    },
    list: 'operations-work',
    sort: 'due_at',
    pageName: 'WorkPage',
    item: WorkItem,
    rows: ({ tenant, query }, page) => {
      requireKnown(operations.processes, query)
      const { kind, process, step, failing_with: failingWith } = query
      return operations.work({ orgId: tenant, kind, process, step, states: statesOf(query.state), failingWith }, page)
    },
    placeOf: ({ due_at: dueAt, id }) => [dueAt, id],
    toItem: (item) => item,
  })
  readRoute(app, {
    ...shared,
    path: '/steps/:id',
    operationId: 'readWork',
    summary: 'One piece of work',
    params: { id: Uuid },
    reply: WorkItem,
    handle: async ({ tenant, params }) => existing(await operations.workItem(tenant, params.id)),
  })

  listRoute(app, deps, {
    ...shared,
    path: '/groups',
    operationId: 'listFailureGroups',
    summary: 'Work that fails in the same way, the largest groups first',
    list: 'operations-groups',
    sort: 'count',
    pageName: 'FailureGroupPage',
    item: FailureGroup,
    rows: async ({ tenant }, { limit, after }) => {
      const groups = await operations.groups(tenant)
      const from = after === null ? 0 : Number(after[0])
      const rows = groups.slice(from, from + limit)
      return { rows, hasMore: groups.length > from + limit, reached: [from + rows.length] }
    },
    placeOf: ({ count }) => [count],
    toItem: (group) => group,
  })
  readRoute(app, {
    ...shared,
    path: '/groups/:id',
    operationId: 'readFailureGroup',
    summary: 'One failure group',
    params: { id: Uuid },
    reply: FailureGroup,
    handle: async ({ tenant, params }) =>
      existing((await operations.groups(tenant)).find(({ id }) => id === params.id)),
  })
}

/** @throws Problem `validation-failed` */
function requireKnown(
  known: Operations['processes'],
  { process, step }: { readonly process?: string; readonly step?: string },
): void {
  const steps = process === undefined ? [...known.values()].flat() : known.get(process)
  if (steps === undefined) throw invalidMember('/process', 'must be a process of the program', 'unknown-value')
  if (step !== undefined && !steps.includes(step))
    throw invalidMember('/step', 'must be a step of a process of the program', 'unknown-value')
}

/** @throws Problem `validation-failed` */
function statesOf(given: string | undefined): readonly WorkState[] | undefined {
  return given?.split(',').map((each) => {
    const state = each.trim()
    if (!Check(WorkState, state)) throw invalidMember('/state', 'must name states of work', 'unknown-value')
    return state
  })
}

function existing<Found>(found: Found | undefined): Found {
  if (found === undefined) throw problem('not-found')
  return found
}
