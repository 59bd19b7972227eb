import type { ImageEvent } from '../../streams/image/events.ts'
import { at, factsOf, hash, ids } from './facts.ts'

/** An image with its own declaration, in the case of the assessment's images. */
export const ownImage = '00000000-0000-4000-8000-0000000000f3'

export const imageFact = factsOf<ImageEvent>({
  ImageDeclared: {
    imageId: ownImage,
    organisationId: ids.org,
    patientId: ids.patient,
    caseId: ids.case,
    captureType: 'macroscopic',
    mimeType: 'image/jpeg',
    bodySiteId: ids.bodySite,
    declaredAt: at(0),
    closesAt: at(86_400),
    fingerprint: hash('f'),
  },
  ImageReceived: {
    imageId: ownImage,
    object: { key: `images/2026-03-01/${ids.org}/${ownImage}/${ownImage}/0a1b2c`, sha256: hash('a'), bytes: 2048 },
    width: 600,
    height: 400,
    receivedAt: at(5),
    request: null,
  },
})
