import { Type } from 'typebox'
import { v5 } from 'uuid'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { Uuid } from '../../platform/http/members.ts'
import { requireNoBody } from '../../platform/http/no-body.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import { latest, requireMatch, written } from '../../platform/http/replies.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { problem } from '../../platform/http/problems.ts'
import { AssessmentRecord } from '../../contracts/assessments/record.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import type { StreamRevision } from '../../platform/kit/positions.ts'
import { holdForEnd } from '../handling/hold-for-end.ts'
import { keyedRequest, keyProblems } from '../handling/keyed-request.ts'
import { createTurns } from '../handling/turns.ts'
import type { AssessmentRouteDependencies } from './dependencies.ts'
import { openAssessmentCase } from './open-assessment-case.ts'
import { recordOf } from './record-of.ts'
import { isSubmittedBy } from './submit-assessment.ts'
import { submitUploads } from './submit-uploads.ts'
import { removeUploads } from './uploads.ts'

export function submitRoute(app: ServiceApp, deps: AssessmentRouteDependencies): void {
  const { store, vault, objects, failpoint } = deps
  const inTurn = createTurns()

  app.post(
    '/assessments/:id/submit',
    {
      schema: {
        operationId: 'submitAssessment',
        summary: 'Submit the uploaded images of an assessment',
        params: Type.Object({ id: Uuid }),
        querystring: OrgQuery,
        response: answers({ 200: AssessmentRecord }, [
          'assessment-not-awaiting-images',
          'uploads-incomplete',
          'image-invalid',
          'image-too-large',
          'object-store-unavailable',
          ...keyProblems,
        ]),
      },
      config: { access: { scopes: ['assessments:write'] }, takesIfMatch: true, takesWait: true },
    },
    async (request, reply) => {
      const { body, caller, params, query } = request
      const orgId = tenantOf(caller, namedOrg(query))
      requireNoBody(body)
      const { causing } = keyedRequest(request, orgId, vault, null)
      const context = commandContext(request, { orgId })
      const assessmentId = params.id.toLowerCase()
      const requireRevision = (revision: StreamRevision) => requireMatch(request, revision)
      const submit = { orgId, assessmentId, request: causing, requireRevision }

      // Who comes while another call reads the same uploads finds them submitted; nothing is read and copied twice.
      const { state, events, reached } = await inTurn(`${orgId} ${assessmentId}`, () =>
        submitUploads(deps, submit, context),
      )
      if (state.status === 'absent') throw problem('internal-error')
      if (events.length > 0) failpoint('assessment-submitted')
      const open = { ...context, commandId: v5('open-case', context.commandId) }
      const opened = state.status === 'processing' ? await openAssessmentCase(deps, state, open) : undefined
      if (events.length > 0) await removeUploads(objects, state)
      const target = assessments.of(orgId, assessmentId)
      const held = await holdForEnd(store, reply, target, state, ({ status }) => status !== 'processing')
      if (held.state.status === 'absent') throw problem('internal-error')
      return written(reply, {
        body: await recordOf(deps, held.state),
        position: latest(reached, opened, held.position),
        projectors: ['assessments', 'cases', 'images'],
        isReplayed: events.length === 0 && isSubmittedBy(causing, state),
      })
    },
  )
}
