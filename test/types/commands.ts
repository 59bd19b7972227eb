/**
 * Mistakes that must not compile. `tsc` fails on an `@ts-expect-error` line without an error, so each line is a test.
 */
import { Type } from 'typebox'
import { changed, created } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import { refused, type Decision } from '../../engine/commands/decision.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { execute } from '../../engine/commands/execute.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { consentRecordsProjector } from '../../projections/consent/consent-records.projector.ts'
import { consents, type ConsentState } from '../../streams/consent/aggregate.ts'
import type { ConsentEvent } from '../../streams/consent/events.ts'

type Refusing<Name extends string> = (state: ConsentState) => Decision<ConsentEvent, Name>

const usual: Refusing<'not-found' | 'idempotency-key-reused'> = () => refused('not-found')
const known: Refusing<'consent-type-in-use'> = () => refused('consent-type-in-use')
const ofDomain: Refusing<'text-not-in-effect'> = () => refused('text-not-in-effect')
// @ts-expect-error the decision names other refusals
export const misspelt: Refusing<'text-not-in-effect'> = () => refused('text-not-in-efect')

const Thing = Type.Object({ id: Type.String() })
const usualMembers = {
  method: 'POST',
  path: '/patients/:patientId/things',
  operationId: 'plant',
  summary: 'A planted route',
  access: 'token',
  body: Type.Object({ text_version_id: Type.String() }),
  reply: created(Thing, ({ id }) => `/things/${id}`),
  readBy: [consentRecordsProjector],
} as const
const inEffect = { code: 'text-version-not-effective', member: 'text_version_id', detail: 'is not in effect' } as const
const record = { id: 'a' }

export function planted(app: ServiceApp, deps: CommandDependencies): void {
  commandRoute(app, deps, {
    ...usualMembers,
    refusals: { 'text-not-in-effect': inEffect },
    problems: ['consent-type-in-use'],
    handle: async ({ tenant, params, body, run }) => {
      const target = consents.of(tenant, params.patientId)
      await run(target, usual)
      await run(target, known)
      await run(target, ofDomain)
      // @ts-expect-error the path has no such parameter
      consents.of(tenant, params.id)
      // @ts-expect-error the body has no such member
      return { ...(await run(target, usual)), record: { id: body.text_version } }
    },
  })
  commandRoute(app, deps, {
    ...usualMembers,
    handle: async ({ tenant, params, run }) => {
      const target = consents.of(tenant, params.patientId)
      // @ts-expect-error the refusal has no answer
      await run(target, ofDomain)
      // @ts-expect-error the route does not list the problem
      await run(target, known)
      return { ...(await run(target, usual)), record }
    },
  })
  commandRoute(app, deps, {
    ...usualMembers,
    // @ts-expect-error a projector is no text
    readBy: ['consent_records'],
    handle: async ({ tenant, run }) => ({ ...(await run(consents.of(tenant, 'a'), usual)), record }),
  })
  commandRoute(app, deps, {
    ...usualMembers,
    // @ts-expect-error there is no such problem
    refusals: { 'text-not-in-effect': { code: 'text-version-not-effectiv' } },
    handle: async ({ tenant, run }) => ({ ...(await run(consents.of(tenant, 'a'), usual)), record }),
  })
  commandRoute(app, deps, {
    ...usualMembers,
    // @ts-expect-error the body has no such member
    refusals: { 'text-not-in-effect': { ...inEffect, member: 'text_version' } },
    handle: async ({ tenant, run }) => ({ ...(await run(consents.of(tenant, 'a'), usual)), record }),
  })
  commandRoute(app, deps, {
    ...usualMembers,
    // @ts-expect-error there is no such problem
    problems: ['consent-type-used'],
    handle: async ({ tenant, run }) => ({ ...(await run(consents.of(tenant, 'a'), usual)), record }),
  })
  commandRoute(app, deps, {
    ...usualMembers,
    reply: changed(Thing),
    // @ts-expect-error the record lacks a member
    handle: async ({ tenant, run }) => ({ ...(await run(consents.of(tenant, 'a'), usual)), record: {} }),
  })
}

export async function executed(deps: CommandDependencies, target: ReturnType<typeof consents.of>): Promise<void> {
  const context = { commandId: 'a', correlationId: 'b', clientId: 'c' }
  await execute(deps.store, target, usual, context)
  // @ts-expect-error no problem answers the refusal
  await execute(deps.store, target, ofDomain, context)
}
