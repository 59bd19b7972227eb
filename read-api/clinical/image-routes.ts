import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { listQuery, page, pageMembers, pageRequest } from '../../platform/http/cursors.ts'
import { Uuid } from '../../platform/http/members.ts'
import { namedOrg, OrgQuery, orgQuery } from '../../platform/http/parameters.ts'
import { found } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { ImageRecord, toImageRecord } from '../../contracts/images/record.ts'
import type { ReadDependencies } from '../read-route.ts'
import { getImage, listImages } from './image-queries.ts'

const ImagePage = Type.Object({ data: Type.Array(ImageRecord), ...pageMembers() }, { $id: 'ImagePage' })

const filters = { case_id: Type.Optional(Uuid), patient_id: Type.Optional(Uuid), assessment_id: Type.Optional(Uuid) }

const access = { scopes: ['images:read'] } as const
const servedBy = ['images']

export function imageRoutes(app: ServiceApp, { pool, cursors, objects, configuration, now }: ReadDependencies): void {
  app.get(
    '/images',
    {
      schema: {
        operationId: 'listImages',
        summary: 'Images of the organisation, or of a case, a patient or an assessment, newest first',
        querystring: Type.Object({ ...orgQuery, ...listQuery, ...filters }, { additionalProperties: false }),
        response: answers({ 200: ImagePage }, ['invalid-cursor', 'expired-cursor']),
      },
      config: { access, servedBy },
    },
    async (request, reply) => {
      const { caller, query } = request
      const org = tenantOf(caller, namedOrg(query))
      const asked = {
        caseId: query.case_id?.toLowerCase(),
        patientId: query.patient_id?.toLowerCase(),
        assessmentId: query.assessment_id?.toLowerCase(),
      }
      const list = { list: 'images', orgId: org, sort: '-created_at', filters: asked }
      const paged = pageRequest(cursors, list, query)
      const rows = await listImages(pool, org, asked, paged.after, paged.fetch)
      return page(reply, {
        cursors,
        list,
        request: paged,
        rows,
        placeOf: ({ place }) => place,
        toItem: (image) => toImageRecord(image),
      })
    },
  )

  app.get(
    '/images/:id',
    {
      schema: {
        operationId: 'getImage',
        summary: 'An image, with an address of its bytes once they are there',
        params: Type.Object({ id: Uuid }),
        querystring: OrgQuery,
        response: answers({ 200: ImageRecord }),
      },
      config: { access, servedBy, hasEtag: true },
    },
    async ({ caller, params, query }, reply) => {
      const image = await getImage(pool, tenantOf(caller, namedOrg(query)), params.id)
      const { revision, stored } = image
      if (stored === null) return found(reply, { body: toImageRecord(image), revision })
      const ttlSeconds = configuration.downloadUrlTtlSeconds
      const { url } = await objects.presignDownload(stored.key, ttlSeconds)
      // Whoever keeps a record that holds a signed address gets a fresh one before that expires.
      const signingWindow = Math.floor((now().getTime() * 2) / (ttlSeconds * 1000))
      return found(reply, { body: toImageRecord(image, { download_url: url }), revision, signingWindow })
    },
  )
}
