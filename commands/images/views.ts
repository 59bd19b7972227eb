import type { ImageView } from '../../contracts/images/record.ts'
import type { ExistingImage } from '../../streams/image/aggregate.ts'

/** The record's view of an image as its stream tells it. */
export function viewOf(state: ExistingImage): ImageView {
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
