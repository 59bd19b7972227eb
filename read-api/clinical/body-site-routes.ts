import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { listQuery, page, pageMembers, pageRequest } from '../../platform/http/cursors.ts'
import { namedOrg, orgQuery } from '../../platform/http/parameters.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { BodySiteRecord, bodySites } from '../../contracts/clinical/body-sites.ts'
import type { ReadDependencies } from '../read-route.ts'

const BodySitePage = Type.Object({ data: Type.Array(BodySiteRecord), ...pageMembers() }, { $id: 'BodySitePage' })

export function bodySiteRoutes(app: ServiceApp, { cursors }: ReadDependencies): void {
  app.get(
    '/body-sites',
    {
      schema: {
        operationId: 'listBodySites',
        summary: 'The catalogue of body sites, the whole before its parts',
        querystring: Type.Object({ ...orgQuery, ...listQuery }, { additionalProperties: false }),
        response: answers({ 200: BodySitePage }, ['invalid-cursor', 'expired-cursor']),
      },
      config: { access: 'token' },
    },
    async (request, reply) => {
      const { caller, query } = request
      const list = { list: 'body-sites', orgId: tenantOf(caller, namedOrg(query)), sort: 'catalogue', filters: {} }
      const asked = pageRequest(cursors, list, query)
      const begin = asked.after === null ? 0 : bodySites.findIndex(({ id }) => id === asked.after?.[0]) + 1
      const rows = bodySites.slice(begin, begin + asked.fetch)
      return page(reply, { cursors, list, request: asked, rows, placeOf: ({ id }) => [id], toItem: (site) => site })
    },
  )
}
