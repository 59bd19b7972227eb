import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { Uuid } from '../../platform/http/members.ts'
import { requireNoBody } from '../../platform/http/no-body.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import { created, requireMatch, written } from '../../platform/http/replies.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { ConsentTypeRecord } from '../../contracts/consent/record.ts'
import { consentTypes, made, type MadeConsentType, consentTypeIdOf } from '../../streams/consent-type/aggregate.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { execute } from '../handling/execute.ts'
import { keyedRequest, keyProblems } from '../handling/keyed-request.ts'
import { onceByKey } from '../handling/once-by-key.ts'
import { CreateConsentTypeBody, readsBothCasings, UpdateConsentTypeBody } from './bodies.ts'
import { createConsentType } from './create-consent-type.ts'
import { deleteConsentType } from './delete-consent-type.ts'
import { updateConsentType } from './update-consent-type.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

export const adminAccess = { admin: 'consents:admin' } as const

/** Creating, describing and deleting the consent types of an organisation (specification 4.4). */
export function typeRoutes(app: ServiceApp, deps: CommandDependencies): void {
  const { store, vault, now } = deps

  app.post(
    '/admin/consent-types',
    {
      preValidation: readsBothCasings('camel'),
      schema: {
        operationId: 'createConsentType',
        summary: 'Create a consent type',
        querystring: OrgQuery,
        body: CreateConsentTypeBody,
        response: answers({ 201: ConsentTypeRecord }, ['consent-type-code-in-use', ...keyProblems]),
      },
      config: { access: adminAccess, hasEtag: true },
    },
    async (request, reply) => {
      const { body, caller, query } = request
      const orgId = tenantOf(caller, namedOrg(query, body.organisationId))
      const consentTypeId = consentTypeIdOf(orgId, body.code)
      const keyed = keyedRequest(request, orgId, vault, body)
      const context = commandContext(request, { orgId })
      const target = targetOf(orgId, consentTypeId)
      const command = {
        consentTypeId,
        organisationId: orgId,
        code: body.code,
        displayName: body.displayName,
        description: body.description ?? null,
        legalBasis: body.legalBasis,
        required: body.required,
        now: now(),
        fingerprint: keyed.identity,
      }
      const hasHappened = async () => (await store.readLast(target.stream)) !== undefined
      const owner = { orgId, ownerId: consentTypeId, ownerStream: target.stream, hasHappened }
      const { state, revision, reached, events } = await onceByKey(deps, keyed, owner, context, () =>
        execute(store, target, (current) => createConsentType(command, current), context),
      )
      return created(reply, {
        body: typeRecord(made(state)),
        location: `/admin/consent-types/${consentTypeId}`,
        position: reached,
        projectors: ['consent_types'],
        revision,
        isReplayed: events.length === 0,
      })
    },
  )

  app.patch(
    '/admin/consent-types/:id',
    {
      preValidation: readsBothCasings('camel'),
      schema: {
        operationId: 'updateConsentType',
        summary: 'Change how a consent type is described',
        description: 'Members that are left out stay as they are; code and legal basis never change.',
        params: Type.Object({ id: Uuid }),
        querystring: OrgQuery,
        body: UpdateConsentTypeBody,
        response: answers({ 200: ConsentTypeRecord }),
      },
      config: { access: adminAccess, takesIfMatch: true, hasEtag: true },
    },
    async (request, reply) => {
      const { body, caller, params, query } = request
      const orgId = tenantOf(caller, namedOrg(query))
      const { displayName, description, required } = body
      const command = { displayName, description, required, now: now() }
      const context = commandContext(request, { orgId })
      const target = targetOf(orgId, params.id.toLowerCase())
      const done = await execute(
        store,
        target,
        (state) => updateConsentType(command, state),
        context,
        (revision) => requireMatch(request, revision),
      )
      if (done.events.length === 0) requireMatch(request, done.revision)
      return written(reply, {
        body: typeRecord(made(done.state)),
        position: done.reached,
        projectors: ['consent_types'],
        revision: done.revision,
      })
    },
  )

  app.delete(
    '/admin/consent-types/:id',
    {
      schema: {
        operationId: 'deleteConsentType',
        summary: 'Delete a consent type on which nothing was decided',
        description: 'Its code stays taken. A type with decisions is never deleted.',
        params: Type.Object({ id: Uuid }),
        querystring: OrgQuery,
        response: answers({ 204: Type.Null({ description: 'Deleted' }) }, ['consent-type-in-use']),
      },
      config: { access: adminAccess, takesIfMatch: true },
    },
    async (request, reply) => {
      const { body, caller, params, query } = request
      requireNoBody(body)
      const orgId = tenantOf(caller, namedOrg(query))
      const context = commandContext(request, { orgId })
      const target = targetOf(orgId, params.id.toLowerCase())
      const done = await execute(
        store,
        target,
        (state) => deleteConsentType({ now: now() }, state),
        context,
        (revision) => requireMatch(request, revision),
      )
      await written(reply, { body: null, position: done.reached, projectors: ['consent_types'] })
      return reply.code(204).send(null)
    },
  )
}

function targetOf(orgId: TenantId, consentTypeId: string) {
  return consentTypes.of(orgId, consentTypeId)
}

function typeRecord(state: MadeConsentType): ConsentTypeRecord {
  return {
    id: state.consentTypeId,
    organisationId: state.organisationId,
    code: state.code,
    displayName: state.displayName,
    description: state.description,
    legalBasis: state.legalBasis,
    required: state.required,
    createdAt: state.createdAt,
    updatedAt: state.updatedAt,
  }
}
