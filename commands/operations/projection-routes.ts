import { Type } from 'typebox'
import { ProjectionOperation } from '../../contracts/operations/record.ts'
import { accepted } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { ProjectionVerb } from '../../streams/operations/events.ts'
import { operatorOf, reasonMember, type OperationsCommandDependencies } from './retry-routes.ts'

const Reason = Type.Object(
  { reason: Type.Optional(reasonMember) },
  { $id: 'ProjectionOperationBody', additionalProperties: false },
)
const RebuildBody = Type.Object(
  {
    reason: Type.Optional(reasonMember),
    accept_difference: Type.Optional(
      Type.Boolean({ description: 'Serve the copy by the log also if the serving one has other rows' }),
    ),
  },
  { $id: 'RebuildProjectionBody', additionalProperties: false },
)
const SkipBody = Type.Object(
  {
    position: Type.String({
      pattern: '^\\d{1,20}/\\d{1,20}$',
      description: 'Of the event at which it failed, `commit/prepare`',
    }),
    reason: reasonMember,
  },
  { $id: 'SkipProjectionEventBody', additionalProperties: false },
)

const summaries: Readonly<Record<ProjectionVerb, readonly [operationId: string, summary: string]>> = {
  rebuild: ['rebuildProjection', 'Fill a read model anew from the log, and serve it if it is equal'],
  verify: ['verifyProjection', 'Compare a read model with the log'],
  retry: ['retryProjection', 'Have a failed read model try its event again'],
  rollback: ['rollBackProjection', 'Serve the copy from before the last rebuild'],
  skip: ['skipProjectionEvent', 'Have a failed read model go on without its event, for ever'],
}

export function projectionRoutes(app: ServiceApp, deps: OperationsCommandDependencies): void {
  for (const verb of ProjectionVerb.enum) {
    const [operationId, summary] = summaries[verb]
    commandRoute(app, deps, {
      method: 'POST',
      path: `/projections/:name/${verb}`,
      textParams: { name: Type.String({ minLength: 1, maxLength: 48 }) },
      operationId,
      summary,
      description:
        'A projector process carries it out. `operation` of `GET /v1/operations/projections` shows how far it is.',
      access: { scopes: ['operations:write'], alsoOfActor: true },
      tenancy: 'optional',
      body: verb === 'rebuild' ? RebuildBody : verb === 'skip' ? SkipBody : Reason,
      ...(verb === 'skip' ? {} : { mayLackBody: true }),
      reply: accepted(ProjectionOperation, () => '/projections'),
      readBy: [],
      problems: ['projection-busy', ...(verb === 'skip' ? (['projection-not-there', 'skip-refused'] as const) : [])],
      handle: async ({ params, body, keyed, caller, context }) => {
        const { operation, recorded } = await deps.operations.workOnProjection({
          id: keyed.id,
          projector: params.name,
          projection: {
            verb,
            acceptsDifference: 'accept_difference' in body && body.accept_difference === true,
            position: 'position' in body ? body.position : null,
          },
          reason: body.reason ?? null,
          actor: operatorOf(caller),
          context,
        })
        return {
          record: operation,
          events: [],
          isReplayed: recorded === undefined,
          reached: recorded?.position,
          revision: recorded?.revision ?? 'no_stream',
        }
      },
    })
  }
}
