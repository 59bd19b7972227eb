import { images } from '../../streams/image/aggregate.ts'
import { hash } from '../../test/streams/facts.ts'
import { imageFact } from '../../test/streams/image-facts.ts'
import type { Act } from './clinical-acts.ts'

export const declareImage: Act = (story, random) => {
  if (story.patients.length === 0) return
  const patient = random.pick(story.patients)
  const image = { id: story.id(random), orgId: patient.orgId, isReceived: false }
  const of = {
    patientId: patient.id,
    caseId: random.oneIn(2) ? null : story.id(random),
    bodySiteId: random.oneIn(2) ? null : story.id(random),
  }
  const captureType = random.pick(['dermoscopic', 'macroscopic', 'other'] as const)
  const instants = { declaredAt: story.instant(random), closesAt: story.instant(random) }
  const declared = imageFact('ImageDeclared', {
    imageId: image.id,
    organisationId: image.orgId,
    captureType,
    ...of,
    ...instants,
  })
  story.append(image.orgId, images.of(image.orgId, image.id).stream, declared)
  story.images.push(image)
}

export const receiveImage: Act = (story, random) => {
  const awaited = story.images.filter(({ isReceived }) => !isReceived)
  if (awaited.length === 0) return
  const image = random.pick(awaited)
  image.isReceived = true
  const object = { key: `images/${image.id}`, sha256: hash('b'), bytes: random.below(20_000_000) }
  const size = random.oneIn(3) ? { width: null, height: null } : {}
  const received = imageFact('ImageReceived', { imageId: image.id, object, receivedAt: story.instant(random), ...size })
  story.append(image.orgId, images.of(image.orgId, image.id).stream, received)
}
