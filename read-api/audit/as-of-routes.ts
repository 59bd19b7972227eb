import { Type } from 'typebox'
import { placeForms, placeOf, type AsOf } from '../../contracts/audit/as-of.ts'
import { readRoute, requireCurrent, type ReadDependencies } from '../../engine/reads/read-route.ts'
import { Instant } from '../../platform/http/members.ts'
import { invalidMember, problem } from '../../platform/http/problems.ts'
import type { Persons } from '../../platform/http/shown-content.ts'
import { personal } from '../../platform/kit/personal-content.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { formatPosition } from '../../platform/kit/positions.ts'
import { auditSubjectsProjector } from '../../projections/audit/audit-subjects.projector.ts'

const AsOfReply = Type.Object(
  {
    at: Instant,
    position: Type.String({ description: 'The last event that the answer contains, in the form of X-Commit-Position' }),
    status: Type.Integer({ description: 'The status of the route' }),
    body: Type.Unknown({ ...personal('as_of'), description: 'The body of the route. Signed addresses are null' }),
  },
  { $id: 'AsOfReply' },
)

const AsOfPaths = Type.Object({ paths: Type.Array(Type.String()) }, { $id: 'AsOfPaths' })

export interface AsOfRouteDependencies extends Pick<ReadDependencies, 'isCurrent'> {
  readonly asOf: AsOf
}

/** What the platform showed: the answer of a route at a moment of the past. */
export function asOfRoutes(app: ServiceApp, deps: AsOfRouteDependencies): void {
  const { asOf } = deps
  const personsOf = new WeakMap<object, Persons>()

  readRoute(app, {
    path: '/as-of',
    operationId: 'readAsOf',
    summary: 'What a GET route answered at a moment of the past',
    description:
      "The answer of today's program over the events up to the moment, for a caller who sees the whole organisation. `GET /v1/audit/as-of/paths` lists the paths.",
    query: {
      at: Type.String({
        maxLength: 64,
        description: 'An instant (RFC 3339), or a position of the log as X-Commit-Position has it',
      }),
      path: Type.String({
        minLength: 1,
        maxLength: 2_048,
        pattern: '^/',
        description: 'The path of a GET route with its query, such as `/v1/clinical-api/cases/{id}`',
      }),
    },
    access: { scopes: ['audit:read', 'audit:read-phi'], alsoOfActor: true },
    servedBy: [auditSubjectsProjector],
    reply: AsOfReply,
    problems: [
      'path-not-supported',
      'moment-in-future',
      'history-too-large',
      'read-model-behind',
      'event-store-unavailable',
      'subject-erased',
      'user-erased',
    ],
    handle: async ({ tenant, query }) => {
      // It names the streams of the answer.
      await requireCurrent(deps, auditSubjectsProjector)
      const place = placeOf(query.at)
      if (place === undefined) throw invalidMember('/at', `must be ${placeForms}`, 'moment')
      const moment = await asOf.momentOf(place)
      if (moment === undefined) throw problem('moment-in-future')
      const { status, body, persons } = await asOf.answer(tenant, moment, query.path)
      const reply = { at: moment.at.toISOString(), position: formatPosition(moment.position), status, body }
      personsOf.set(reply, persons)
      return reply
    },
    shows: (reply) => personsOf.get(reply) ?? {},
  })

  readRoute(app, {
    path: '/as-of/paths',
    operationId: 'listAsOfPaths',
    summary: 'The paths that have answers of the past',
    access: { scopes: ['audit:read'], alsoOfActor: true },
    tenancy: 'optional',
    servedBy: [],
    reply: AsOfPaths,
    handle: async () => ({ paths: [...asOf.paths] }),
  })
}
