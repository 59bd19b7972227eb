import { describe, expect, it } from 'vitest'
import { imagesProjector } from '../../../projections/images/images.projector.ts'
import { recorded, rowsAfter } from '../../support/given-projector.ts'
import { assessmentFact, at, ids } from '../../streams/facts.ts'
import { imageFact, ownImage } from '../../streams/image-facts.ts'

const owner = {
  owner_id: ids.assessment,
  org_id: ids.org,
  patient_id: ids.patient,
  case_id: null,
  assessment_id: ids.assessment,
  is_collected: false,
  body_site_id: ids.bodySite,
  status: 'awaiting_upload',
  created_at: at(0),
  updated_at: at(0),
  stream_revision: '0',
}
const nothing = { object_key: null, sha256: null, bytes: null, width: null, height: null }
const declared = [
  {
    image_id: ids.image,
    owner_id: ids.assessment,
    ordinal: 0,
    capture_type: 'dermoscopic',
    mime_type: 'image/jpeg',
    ...nothing,
  },
  {
    image_id: ids.secondImage,
    owner_id: ids.assessment,
    ordinal: 1,
    capture_type: 'other',
    mime_type: 'image/png',
    ...nothing,
  },
]

describe('the images read model', () => {
  it('contains a single declared image, and its place in the object store once it is received', async () => {
    const own = { ...owner, owner_id: ownImage, assessment_id: null, case_id: ids.case }
    const row = {
      image_id: ownImage,
      owner_id: ownImage,
      ordinal: 0,
      capture_type: 'macroscopic',
      mime_type: 'image/jpeg',
      ...nothing,
    }
    expect(await rowsAfter(imagesProjector, recorded([imageFact('ImageDeclared')]))).toEqual({
      image_owners: [own],
      images: [row],
    })
    const { key, sha256, bytes } = imageFact('ImageReceived').data.object
    expect(
      await rowsAfter(imagesProjector, recorded([imageFact('ImageDeclared'), imageFact('ImageReceived')])),
    ).toEqual({
      image_owners: [{ ...own, status: 'received', updated_at: at(5), stream_revision: '1' }],
      images: [{ ...row, object_key: key, sha256, bytes: String(bytes), width: 600, height: 400 }],
    })
  })

  it('marks the owner of images that a workflow collected', async () => {
    const collected = assessmentFact('AssessmentRequested', { mode: 'collected' })
    const { image_owners: owners } = await rowsAfter(imagesProjector, recorded([collected]))
    expect(owners).toEqual([{ ...owner, is_collected: true }])
  })

  it('follows the images of an assessment from the declaration to the end', async () => {
    const story = [
      assessmentFact('AssessmentRequested'),
      assessmentFact('AssessmentUploadsAwaited'),
      assessmentFact('AssessmentSubmitted', { submittedAt: at(2) }),
      assessmentFact('AssessmentReviewRequested'),
      assessmentFact('AssessmentReviewRenewed'),
      assessmentFact('AssessmentCompleted'),
    ]
    const after = async (count: number) => rowsAfter(imagesProjector, recorded(story.slice(0, count)))
    expect(await after(1)).toEqual({ image_owners: [owner], images: declared })
    expect(await after(2)).toEqual({ image_owners: [{ ...owner, stream_revision: '1' }], images: declared })
    const received = { ...owner, case_id: ids.case, status: 'received', updated_at: at(2) }
    const stored = assessmentFact('AssessmentSubmitted').data.images.map(
      ({ object: { key, sha256, bytes }, width, height }, place) => {
        return { ...declared[place], object_key: key, sha256, bytes: String(bytes), width, height }
      },
    )
    expect(await after(3)).toEqual({ image_owners: [{ ...received, stream_revision: '2' }], images: stored })
    expect((await after(5)).image_owners).toEqual([{ ...received, stream_revision: '4' }])
    expect(await after(6)).toEqual({
      image_owners: [{ ...received, status: 'processed', updated_at: at(30), stream_revision: '5' }],
      images: stored,
    })
  })

  it('does not change the images of a failed assessment', async () => {
    const expired = assessmentFact('AssessmentFailed', { aiReviewId: null, code: 'UPLOAD_WINDOW_EXPIRED' })
    const { image_owners: never } = await rowsAfter(
      imagesProjector,
      recorded([assessmentFact('AssessmentRequested'), assessmentFact('AssessmentUploadsAwaited'), expired]),
    )
    expect(never).toEqual([{ ...owner, stream_revision: '2' }])
    const { image_owners: failed } = await rowsAfter(
      imagesProjector,
      recorded([
        assessmentFact('AssessmentRequested'),
        assessmentFact('AssessmentSubmitted'),
        assessmentFact('AssessmentFailed'),
      ]),
    )
    expect(failed).toEqual([{ ...owner, case_id: ids.case, status: 'received', stream_revision: '2' }])
  })
})
