import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { Uuid } from '../../platform/http/members.ts'
import { requireNoBody } from '../../platform/http/no-body.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import { requireMatch, written } from '../../platform/http/replies.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { problem } from '../../platform/http/problems.ts'
import { ImageRecord, toImageRecord } from '../../contracts/images/record.ts'
import type { StreamRevision } from '../../platform/kit/positions.ts'
import type { AssessmentRouteDependencies } from '../assessments/dependencies.ts'
import { uploadKey } from '../assessments/uploads.ts'
import { keyedRequest, keyProblems } from '../handling/keyed-request.ts'
import { createTurns } from '../handling/turns.ts'
import { isReceivedBy } from './receive-image.ts'
import { receiveUpload } from './receive-upload.ts'
import { viewOf } from './views.ts'

export function submitImageRoute(app: ServiceApp, deps: AssessmentRouteDependencies): void {
  const { vault, objects, configuration } = deps
  const inTurn = createTurns()

  app.post(
    '/images/:id/submit',
    {
      schema: {
        operationId: 'submitImage',
        summary: 'Submit the uploaded bytes of an image',
        params: Type.Object({ id: Uuid }),
        querystring: OrgQuery,
        response: answers({ 200: ImageRecord }, [
          'image-not-awaiting-upload',
          'uploads-incomplete',
          'image-invalid',
          'image-too-large',
          'object-store-unavailable',
          ...keyProblems,
        ]),
      },
      config: { access: { scopes: ['images:write'] }, takesIfMatch: true },
    },
    async (request, reply) => {
      const { body, caller, params, query } = request
      const orgId = tenantOf(caller, namedOrg(query))
      requireNoBody(body)
      const { causing } = keyedRequest(request, orgId, vault, null)
      const context = commandContext(request, { orgId })
      const imageId = params.id.toLowerCase()
      const requireRevision = (revision: StreamRevision) => requireMatch(request, revision)
      const submit = { orgId, imageId, request: causing, requireRevision }

      // Who comes while another call reads the same upload finds it submitted; nothing is read and copied twice.
      const { state, events, reached } = await inTurn(`${orgId} ${imageId}`, () => receiveUpload(deps, submit, context))
      if (state.status !== 'received') throw problem('internal-error')
      // One that stays behind harms nobody.
      if (events.length > 0) await Promise.allSettled([objects.remove(uploadKey(orgId, imageId, imageId))])
      const { url } = await objects.presignDownload(state.object.key, configuration.downloadUrlTtlSeconds)
      return written(reply, {
        body: toImageRecord(viewOf(state), { download_url: url }),
        position: reached,
        projectors: ['images'],
        isReplayed: events.length === 0 && isReceivedBy(causing, state),
      })
    },
  )
}
