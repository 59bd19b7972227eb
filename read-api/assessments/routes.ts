import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { Uuid } from '../../platform/http/members.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import { found } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { heldRecord } from '../../platform/http/waiting.ts'
import { AssessmentRecord, isOver, pollAfterMs, toAssessmentRecord } from '../../contracts/assessments/record.ts'
import { signDownloads } from '../../contracts/assessments/download-urls.ts'
import type { ReadDependencies } from '../read-route.ts'
import { getAssessment } from './queries.ts'

export function assessmentReadRoutes(app: ServiceApp, { pool, objects, configuration, now }: ReadDependencies): void {
  app.get(
    '/assessments/:id',
    {
      schema: {
        operationId: 'getAssessment',
        summary: 'An assessment',
        params: Type.Object({ id: Uuid }),
        querystring: OrgQuery,
        response: answers({ 200: AssessmentRecord }),
      },
      config: { access: { scopes: ['assessments:read'] }, servedBy: ['assessments'], hasEtag: true, takesWait: true },
    },
    async ({ caller, params, query }, reply) => {
      const org = tenantOf(caller, namedOrg(query))
      const view = await heldRecord(
        reply,
        () => getAssessment(pool, org, params.id),
        ({ status }) => isOver(status),
      )
      if (view.status === 'processing') reply.header('retry-after', String(pollAfterMs / 1000))
      const ttlSeconds = configuration.downloadUrlTtlSeconds
      const body = toAssessmentRecord(view, await signDownloads(objects, view, ttlSeconds))
      // Whoever keeps a record that holds signed addresses gets fresh ones before those expire.
      const signingWindow =
        view.status === 'completed' ? Math.floor((now().getTime() * 2) / (ttlSeconds * 1000)) : undefined
      return found(reply, { body, revision: view.revision, signingWindow })
    },
  )
}
