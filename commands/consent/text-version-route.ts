import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { Uuid } from '../../platform/http/members.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import { created } from '../../platform/http/replies.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { problem } from '../../platform/http/problems.ts'
import { ConsentTextVersionRecord } from '../../contracts/consent/record.ts'
import { consentTypes, made, type TextVersion } from '../../streams/consent-type/aggregate.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { execute } from '../handling/execute.ts'
import { keyedRequest, keyProblems } from '../handling/keyed-request.ts'
import { canonicalLocale, PublishTextVersionBody, readsBothCasings } from './bodies.ts'
import { publishTextVersion } from './publish-text-version.ts'
import { adminAccess } from './type-routes.ts'

/** A text is published once and never changed; a new one is a new version. */
export function textVersionRoute(app: ServiceApp, { store, vault, now }: CommandDependencies): void {
  app.post(
    '/admin/consent-types/:typeId/text-versions',
    {
      preValidation: readsBothCasings('camel'),
      schema: {
        operationId: 'publishConsentTextVersion',
        summary: 'Publish a text version of a consent type',
        params: Type.Object({ typeId: Uuid }),
        querystring: OrgQuery,
        body: PublishTextVersionBody,
        response: answers({ 201: ConsentTextVersionRecord }, ['text-version-exists', ...keyProblems]),
      },
      config: { access: adminAccess },
    },
    async (request, reply) => {
      const { body, caller, query } = request
      const orgId = tenantOf(caller, namedOrg(query))
      const consentTypeId = request.params.typeId.toLowerCase()
      const keyed = keyedRequest(request, orgId, vault, body)
      const command = {
        consentTypeId,
        textVersionId: keyed.id,
        locale: canonicalLocale(body.locale),
        text: body.text,
        contentHash: createHash('sha256').update(body.text, 'utf8').digest('hex'),
        effectiveFrom: body.effectiveFrom === undefined ? null : new Date(body.effectiveFrom),
        now: now(),
        fingerprint: keyed.fingerprint,
      }
      const target = consentTypes.of(orgId, consentTypeId)
      const context = commandContext(request, { orgId })
      const done = await execute(store, target, (state) => publishTextVersion(command, state), context)
      const version = made(done.state).textVersions.find((one) => one.textVersionId === keyed.id)
      if (version === undefined) throw problem('internal-error')
      return created(reply, {
        body: textVersionRecord(consentTypeId, version),
        location: `/admin/consent-types/${consentTypeId}/text-versions`,
        position: done.reached,
        projectors: ['consent_types'],
        isReplayed: done.events.length === 0,
      })
    },
  )
}

function textVersionRecord(consentTypeId: string, version: TextVersion): ConsentTextVersionRecord {
  return {
    id: version.textVersionId,
    consentTypeId,
    locale: version.locale,
    text: version.text,
    contentHash: version.contentHash,
    effectiveFrom: version.effectiveFrom,
    createdAt: version.createdAt,
  }
}
