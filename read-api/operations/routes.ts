import type { Readable } from 'node:stream'
import { Type } from 'typebox'
import { Check } from 'typebox/schema'
import {
  ActionRecord,
  EndpointState,
  FailureGroup,
  OperationsHealth,
  Overview,
  ProjectionState,
  RelayState,
  SealState,
  SubjectState,
  WorkDetail,
  WorkItem,
  WorkKind,
  WorkState,
} from '../../contracts/operations/record.ts'
import type { FindSubject, Operations } from '../../contracts/operations/operations.ts'
import type { Projector } from '../../engine/projections/projector.ts'
import { listRoute } from '../../engine/reads/list-route.ts'
import { readRoute, type ReadDependencies } from '../../engine/reads/read-route.ts'
import {
  answerWithStream,
  openStream,
  wantsStream,
  type StreamDependencies,
} from '../../engine/reads/server-sent-events.ts'
import { answers } from '../../platform/http/answers.ts'
import type { PageRequest, PageRows } from '../../platform/http/cursors.ts'
import { Uuid } from '../../platform/http/members.ts'
import { operatorActionsProjector } from '../../projections/operations/operator-actions.projector.ts'
import { invalidMember, problem } from '../../platform/http/problems.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { overviewStream } from './overview-stream.ts'
import { listActions, placeOfAction } from './actions-queries.ts'

export interface OperationsRouteDependencies extends Pick<ReadDependencies, 'cursors' | 'pool'>, StreamDependencies {
  readonly operations: Operations
  readonly subjects: Subjects
}

export interface Subjects {
  readonly find: FindSubject
  /** The read models of the answer. */
  readonly servedBy: readonly Projector[]
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
    description:
      'With `Accept: text/event-stream` alone it answers with server-sent events: an overview each five seconds, and at each change of `status`.',
    querystring,
    response: answers({ 200: overviewOrStream }, ['too-many-streams']),
  }
  app.get('/overview', { config: { access }, schema: overview }, async (request, reply) => {
    reply.header('vary', 'accept')
    if (!wantsStream(request.headers.accept)) return operations.overview()
    const stream = openStream(request, reply, deps)
    return answerWithStream(reply, overviewStream(operations, stream.signal), stream)
  })
  const health = {
    operationId: 'readOperationsHealth',
    summary: 'The processes with their checks',
    querystring,
    response: answers({ 200: OperationsHealth }, []),
  }
  app.get('/health', { config: { access }, schema: health }, async () => operations.health())

  const seal = {
    operationId: 'readSeal',
    summary: 'The newest seal of the log, and how far it is behind',
    querystring,
    response: answers({ 200: SealState }, ['not-found']),
  }
  app.get('/seals', { config: { access }, schema: seal }, async () => existing((await operations.seal()) ?? undefined))

  const work = {
    ...shared,
    sort: 'due_at',
    pageName: 'WorkPage',
    item: WorkItem,
    placeOf: ({ due_at: dueAt, id }: WorkItem) => [dueAt, id],
    toItem: (item: WorkItem) => item,
  }
  const byState = {
    state: Type.Optional(Type.String({ maxLength: 64, description: 'One or several with commas' })),
    failing_with: Type.Optional(Type.String({ format: 'uuid', description: 'The id of a failure group' })),
  }
  listRoute(app, deps, {
    ...work,
    path: '/steps',
    operationId: 'listWork',
    summary: 'Work of all processes, the oldest first',
    query: {
      kind: Type.Optional(WorkKind),
      process: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      step: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      ...byState,
    },
    list: 'operations-work',
    rows: ({ tenant, query }, page) => {
      requireKnown(operations.processes, query)
      const { kind, process, step, state, failing_with: failingWith } = query
      return operations.work({ orgId: tenant, kind, process, step, states: statesOf(state), failingWith }, page)
    },
  })
  for (const [path, kind, operationId, summary] of recordedKinds)
    listRoute(app, deps, {
      ...work,
      path,
      operationId,
      summary,
      query: byState,
      list: operationId,
      rows: ({ tenant, query: { state, failing_with: failingWith } }, page) =>
        operations.work({ orgId: tenant, kind, states: statesOf(state), failingWith }, page),
    })
  readRoute(app, {
    ...shared,
    path: '/steps/:id',
    operationId: 'readWork',
    summary: 'One piece of work',
    params: { id: Uuid },
    reply: WorkDetail,
    handle: async ({ tenant, params }) => existing(await operations.workItem(tenant, params.id)),
  })

  readRoute(app, {
    ...shared,
    servedBy: deps.subjects.servedBy,
    path: '/subjects/:id',
    operationId: 'readOperationsSubject',
    summary: 'An assessment, a case, an AI review, a task, a delivery or a notification on its way through the stages',
    params: { id: Uuid },
    reply: SubjectState,
    problems: ['subject-erased', 'user-erased'],
    handle: async ({ tenant, params }) => existing(await deps.subjects.find(tenant, params.id)),
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
    rows: async ({ tenant }, page) => partOf(await operations.groups(tenant), page),
    placeOf: ({ id }) => [id],
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

  listRoute(app, deps, {
    ...shared,
    path: '/projections',
    operationId: 'listProjections',
    summary: 'Read models and to-do lists, by name',
    list: 'operations-projections',
    sort: 'name',
    pageName: 'ProjectionPage',
    item: ProjectionState,
    rows: async (_, page) => partOf(await operations.projections(), page),
    placeOf: ({ name }) => [name],
    toItem: (projection) => projection,
  })
  listRoute(app, deps, {
    ...shared,
    path: '/relays',
    operationId: 'listRelays',
    summary: 'The relays of public channels, by channel',
    list: 'operations-relays',
    sort: 'channel',
    pageName: 'RelayPage',
    item: RelayState,
    rows: async (_, page) => partOf(await operations.relays(), page),
    placeOf: ({ channel }) => [channel],
    toItem: (relay) => relay,
  })
  listRoute(app, deps, {
    ...shared,
    path: '/endpoints',
    operationId: 'listEndpoints',
    summary: 'Receivers of webhooks, with their hosts',
    list: 'operations-endpoints',
    sort: 'id',
    pageName: 'EndpointPage',
    item: EndpointState,
    rows: ({ tenant }, page) => operations.endpoints(tenant, page),
    placeOf: ({ id }) => [id],
    toItem: (endpoint) => endpoint,
  })
  listRoute(app, deps, {
    ...shared,
    servedBy: [operatorActionsProjector],
    path: '/actions',
    operationId: 'listOperatorActions',
    summary: 'What operators did, the latest first',
    list: 'operations-actions',
    sort: '-at',
    pageName: 'OperatorActionPage',
    item: ActionRecord,
    rows: (_, page) => listActions(deps.pool, page),
    placeOf: (row) => placeOfAction(row),
    toItem: ({ actionId: id, at, action, reason, count, ...row }): ActionRecord => ({
      id,
      at: new Date(at).toISOString(),
      action,
      actor: { kind: row.actorKind, id: row.actorId },
      subject: { kind: row.subjectKind, id: row.subjectId },
      reason,
      count,
    }),
  })
}

const overviewOrStream = {
  description: 'The overview, or server-sent events if the caller accepts these alone',
  headers: { Vary: { type: 'string', description: 'accept' } },
  content: {
    'application/json': { schema: Overview },
    'text/event-stream': {
      schema: Type.Unsafe<Readable | string>({ type: 'string', description: 'Each `data` is an OperationsOverview' }),
    },
  },
}

/** Work that has a record of its own. */
const recordedKinds = [
  ['/deliveries', 'delivery', 'listDeliveryWork', 'Deliveries of webhooks that are not over, the oldest first'],
  ['/notifications', 'notification', 'listNotificationWork', 'Notifications that are not over, the oldest first'],
] as const

/** A page of a short list. Its place is the number of items before it. */
function partOf<Item>(items: readonly Item[], { limit, after }: PageRequest): PageRows<Item> {
  const from = after === null ? 0 : Number(after[0])
  const rows = items.slice(from, from + limit)
  return { rows, hasMore: items.length > from + limit, reached: [from + rows.length] }
}

function oneOf(names: readonly string[]): string {
  return `must be one of ${names.join(', ')}`
}

/** @throws Problem `validation-failed` */
function requireKnown(
  known: Operations['processes'],
  { process, step }: { readonly process?: string; readonly step?: string },
): void {
  const steps = process === undefined ? [...known.values()].flat() : known.get(process)
  if (steps === undefined) throw invalidMember('/process', oneOf([...known.keys()]), 'unknown-value')
  if (step !== undefined && !steps.includes(step))
    throw invalidMember('/step', oneOf([...new Set(steps)]), 'unknown-value')
}

/** @throws Problem `validation-failed` */
function statesOf(given: string | undefined): readonly WorkState[] | undefined {
  return given?.split(',').map((each) => {
    const state = each.trim()
    if (!Check(WorkState, state)) throw invalidMember('/state', oneOf(WorkState.enum), 'unknown-value')
    return state
  })
}

function existing<Found>(found: Found | undefined): Found {
  if (found === undefined) throw problem('not-found')
  return found
}
