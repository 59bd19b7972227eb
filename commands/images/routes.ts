import { randomBytes } from 'node:crypto'
import { v7 } from 'uuid'
import { ImageRecord, toImageRecord, type ImageAddresses, type ImageView } from '../../contracts/images/record.ts'
import { problem, requireValid } from '../../platform/http/problems.ts'
import { requireMatch } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { imagesProjector } from '../../projections/images/images.projector.ts'
import { images, type ExistingImage } from '../../streams/image/aggregate.ts'
import type { AssessmentDependencies } from '../assessments/dependencies.ts'
import { uploadUrlRoute } from '../assessments/upload-url-route.ts'
import { signUpload, uploadKey } from '../assessments/uploads.ts'
import { changed, created } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import { createKeyedLock } from '../../engine/commands/keyed-lock.ts'
import { declarationErrors, DeclareImageBody } from './bodies.ts'
import { declareImage, isReceivedBy, isUploadOpen } from './image-decisions.ts'
import { patientOfImage } from './patient-of-image.ts'
import { receiveUpload, windowOfImage } from './uploads.ts'

const scope = 'images:write'
const access = { scopes: [scope] } as const

export function imageWriteRoutes(app: ServiceApp, given: AssessmentDependencies): void {
  const deps = { ...given, newId: () => v7(), randomPart: () => randomBytes(12).toString('hex') }
  const { store, objects, configuration, now: clock } = deps
  const withLock = createKeyedLock()

  commandRoute(app, deps, {
    method: 'POST',
    path: '/images',
    operationId: 'declareImage',
    summary: 'Declare an image of a case or a patient, for a later upload',
    access,
    body: DeclareImageBody,
    reply: created(ImageRecord, ({ id }) => `/images/${id}`),
    readBy: [imagesProjector],
    problems: ['case-closed', 'case-not-found', 'patient-not-found'],
    handle: async ({ tenant, body, keyed, now, run }) => {
      requireValid(declarationErrors(body, configuration))
      const target = { ...images.of(tenant, keyed.id), isNew: true }
      const { state: known, revision, position } = keyed.isKeyed ? await store.load(target) : store.presume(target)
      // A repeat needs no open case.
      if (known.status !== 'absent' && known.fingerprint === keyed.fingerprint)
        return { record: await recordOf(known), revision, events: [], reached: position }

      const command = {
        imageId: keyed.id,
        organisationId: tenant,
        patientId: await patientOfImage(deps, tenant, body),
        caseId: body.case_id ?? null,
        captureType: body.capture_type,
        mimeType: body.mime_type,
        ...(body.size_bytes === undefined ? {} : { sizeBytes: body.size_bytes }),
        bodySiteId: body.body_site_id ?? null,
        now,
        uploadWindowMs: configuration.uploadWindowSeconds * 1000,
        fingerprint: keyed.fingerprint,
      }
      const done = await run(target, (state) => declareImage(command, state))
      return { ...done, record: await recordOf(done.state) }
    },
  })

  uploadUrlRoute(app, deps, {
    path: '/images/:id/upload-url',
    operationId: 'signImageUploadUrl',
    summary: 'Get a new upload address for a declared image',
    scope,
    notAwaiting: 'image-not-awaiting-upload',
    find: async (tenant, idOf) => {
      const { state } = await store.load(images.of(tenant, idOf('id')))
      if (state.status === 'absent') throw problem('not-found')
      const isAwaiting = state.status === 'awaiting_upload' && isUploadOpen(clock(), state)
      if (!isAwaiting) throw problem('image-not-awaiting-upload')
      return { image: state, window: windowOfImage(state), patientId: state.patientId }
    },
  })

  commandRoute(app, deps, {
    method: 'POST',
    path: '/images/:id/submit',
    operationId: 'submitImage',
    summary: 'Submit the uploaded bytes of an image',
    access,
    ifMatch: 'record',
    reply: changed(ImageRecord),
    shows: ({ patient_id: patientId }) => ({ patientId }),
    readBy: [imagesProjector],
    problems: [
      'image-not-awaiting-upload',
      'uploads-incomplete',
      'image-invalid',
      'image-too-large',
      'object-store-unavailable',
    ],
    handle: async ({ tenant, params: { id: imageId }, keyed: { causing }, context, request }) => {
      const submit = { orgId: tenant, imageId, request: causing }
      // A request that waited for another one finds the image submitted, so nothing is read or copied twice.
      const done = await withLock(`${tenant} ${imageId}`, () =>
        receiveUpload(deps, { ...submit, requireRevision: (revision) => requireMatch(request, revision) }, context),
      )
      const { state, events } = done
      if (state.status !== 'received') throw problem('internal-error')
      // An upload that remains does no harm.
      if (events.length > 0) await Promise.allSettled([objects.remove(uploadKey(tenant, imageId, imageId))])
      const { url } = await objects.presignDownload(state.object.key, configuration.downloadUrlTtlSeconds)
      const record = toImageRecord(viewOf(state), { download_url: url })
      return { ...done, record, isReplayed: events.length === 0 && isReceivedBy(causing, state) }
    },
  })

  async function recordOf(state: ExistingImage): Promise<ImageRecord> {
    return toImageRecord(viewOf(state), await addressesOf(state))
  }

  /** A repeat gets a newly signed address while the upload is awaited. */
  async function addressesOf(state: ExistingImage): Promise<ImageAddresses> {
    if (state.status !== 'awaiting_upload' || !isUploadOpen(clock(), state)) return {}
    const { url, expiresAt } = await signUpload(deps, windowOfImage(state), state)
    return { upload_url: url, upload_url_expires_at: expiresAt.toISOString() }
  }
}

/** The record's view of an image, from its stream. */
function viewOf(state: ExistingImage): ImageView {
  const { sha256 = null, bytes = null } = state.status === 'received' ? state.object : {}
  return {
    imageId: state.imageId,
    caseId: state.caseId,
    patientId: state.patientId,
    assessmentId: null,
    captureType: state.captureType,
    mimeType: state.mimeType,
    bodySiteId: state.bodySiteId,
    status: state.status,
    sha256,
    bytes,
    width: state.status === 'received' ? state.width : null,
    height: state.status === 'received' ? state.height : null,
    createdAt: state.declaredAt,
    updatedAt: state.status === 'received' ? state.receivedAt : state.declaredAt,
  }
}
