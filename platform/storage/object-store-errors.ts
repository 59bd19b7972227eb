import { S3ServiceException } from '@aws-sdk/client-s3'
import { problem, type Problem } from '../http/problems.ts'

/** The HTTP status of a refusal by the object store; undefined without an answer. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined
}

export function unavailable(cause?: unknown): Problem {
  return problem('object-store-unavailable', { retryAfterSeconds: 2, cause })
}
