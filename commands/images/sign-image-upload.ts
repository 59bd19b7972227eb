import type { SignedAddress } from '../../platform/storage/object-store.ts'
import type { AwaitedImage } from '../../streams/image/aggregate.ts'
import type { AssessmentDependencies } from '../assessments/dependencies.ts'
import { signUpload } from '../assessments/uploads.ts'

/** An address to put the bytes of an image to; the image is its own owner. */
export function signImageUpload(
  deps: Pick<AssessmentDependencies, 'objects' | 'configuration' | 'now'>,
  image: AwaitedImage,
): Promise<SignedAddress> {
  const { organisationId, imageId, closesAt } = image
  return signUpload(deps, { organisationId, ownerId: imageId, closesAt }, image)
}
