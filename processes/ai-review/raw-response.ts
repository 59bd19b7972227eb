import { createSecretKey, hash, randomBytes } from 'node:crypto'
import { sealBytes } from '../../platform/kit/sealed-bytes.ts'
import type { RawResponse } from '../../streams/ai-review/events.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

interface GivenResponse {
  readonly orgId: TenantId
  readonly aiReviewId: string
  readonly patientId: string
  readonly text: string
}

/** What the object store contains of a review. */
export function rawResponsePrefix(orgId: TenantId, aiReviewId: string): string {
  return `raw-responses/${orgId}/${aiReviewId}/`
}

/**
 * Stores the whole answer of the provider, encrypted with the patient's key, before the event that names it. If the
 * patient was erased meanwhile, it is encrypted with a key that is thrown away.
 */
export async function storeRawResponse(
  { vault, objects }: Pick<ProcessDependencies, 'vault' | 'objects'>,
  { orgId, aiReviewId, patientId, text }: GivenResponse,
): Promise<RawResponse> {
  const objectKey = rawResponsePrefix(orgId, aiReviewId) + randomBytes(12).toString('hex')
  const subjectKey = await vault.subjectKeyForWriting(orgId, patientId)
  const key = subjectKey === 'destroyed' ? createSecretKey(randomBytes(32)) : subjectKey
  const {
    key: stored,
    sha256,
    bytes,
  } = await objects.put(objectKey, sealBytes(key, objectKey, Buffer.from(text, 'utf8')), 'application/octet-stream')
  return { key: stored, sha256, bytes, contentSha256: hash('sha256', text) }
}
