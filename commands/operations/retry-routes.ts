import { Type } from 'typebox'
import type { Operations } from '../../contracts/operations/operations.ts'
import { Retry } from '../../contracts/operations/record.ts'
import { accepted } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import type { Caller } from '../../platform/http/access.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import type { OperatorActor } from '../../streams/operations/events.ts'

export interface OperationsCommandDependencies extends CommandDependencies {
  readonly operations: Pick<Operations, 'retry' | 'workOnProjection'>
}

export const reasonMember = Type.String({ minLength: 1, maxLength: 500, description: 'It must not name a person' })

const RetryBody = Type.Object(
  { reason: Type.Optional(reasonMember) },
  { $id: 'OperationsRetryBody', additionalProperties: false },
)

/** The user for whom the client acts, else the client. */
export function operatorOf({ actor, clientId }: Caller): OperatorActor {
  return actor === null ? { kind: 'client', id: clientId } : { kind: 'user', id: actor.auditId }
}

const targets = [
  ['step', '/steps', 'retryWork', 'Give one failing piece of work its next try now'],
  ['group', '/groups', 'retryFailureGroup', 'Give each item of a failure group its next try now'],
] as const

export function retryRoutes(app: ServiceApp, deps: OperationsCommandDependencies): void {
  for (const [kind, path, operationId, summary] of targets)
    commandRoute(app, deps, {
      method: 'POST',
      path: `${path}/:id/retry`,
      operationId,
      summary,
      description:
        'Within the limits of the workers. While a retry of the same work runs, it is the answer. Work that fails again stays on its own schedule.',
      access: { scopes: ['operations:write'], alsoOfActor: true },
      tenancy: 'optional',
      body: RetryBody,
      mayLackBody: true,
      reply: accepted(Retry, (_, { id }: { readonly id: string }) => `${path}/${id}`),
      readBy: [],
      problems: ['step-not-failing', 'not-retryable'],
      handle: async ({ tenant, params, body, keyed, caller, context }) => {
        const { retry, recorded } = await deps.operations.retry({
          id: keyed.id,
          target: { kind, id: params.id },
          orgId: tenant,
          reason: body.reason ?? null,
          actor: operatorOf(caller),
          context,
        })
        return {
          record: retry,
          events: [],
          isReplayed: recorded === undefined,
          reached: recorded?.position,
          revision: recorded?.revision ?? 'no_stream',
        }
      },
    })
}
