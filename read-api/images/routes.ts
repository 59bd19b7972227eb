import { Type } from 'typebox'
import { ImageRecord, toImageRecord } from '../../contracts/images/record.ts'
import { Uuid } from '../../platform/http/members.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { imagesProjector } from '../../projections/images/images.projector.ts'
import { listRoute } from '../../engine/reads/list-route.ts'
import { readRoute, type ReadDependencies } from '../../engine/reads/read-route.ts'
import { getImage, listImages, placeOfImage, recordedImage } from './queries.ts'

const shared = { access: { scopes: ['images:read'] }, servedBy: [imagesProjector] } as const

export function imageReadRoutes(app: ServiceApp, deps: ReadDependencies): void {
  const { pool, objects, configuration, now } = deps

  listRoute(app, deps, {
    ...shared,
    path: '/images',
    operationId: 'listImages',
    summary: 'Images of the organisation, or of a case, a patient or an assessment, newest first',
    query: { case_id: Type.Optional(Uuid), patient_id: Type.Optional(Uuid), assessment_id: Type.Optional(Uuid) },
    list: 'images',
    sort: '-created_at',
    pageName: 'ImagePage',
    item: ImageRecord,
    rows: ({ tenant, filters }, page) => listImages(pool, tenant, filters, page),
    placeOf: (image) => placeOfImage(image),
    toItem: (image) => toImageRecord(recordedImage(image)),
    shows: ({ patientId }) => ({ patientId }),
  })

  readRoute(app, {
    ...shared,
    path: '/images/:id',
    operationId: 'getImage',
    summary: 'An image, with a download address once its bytes are stored',
    params: { id: Uuid },
    reply: ImageRecord,
    shows: ({ patient_id: patientId }) => ({ patientId }),
    find: async ({ tenant, params }) => {
      const image = await getImage(pool, tenant, params.id)
      const revision = BigInt(image.streamRevision)
      if (image.objectKey === null) return { body: toImageRecord(recordedImage(image)), revision }
      const ttlSeconds = configuration.downloadUrlTtlSeconds
      const { url } = await objects.presignDownload(image.objectKey, ttlSeconds)
      // A caller with a kept record gets a fresh signed address before the old one expires.
      const variant = Math.floor((now().getTime() * 2) / (ttlSeconds * 1000))
      return { body: toImageRecord(recordedImage(image), { download_url: url }), revision, variant }
    },
  })
}
