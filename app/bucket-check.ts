import { HeadBucketCommand, S3Client } from '@aws-sdk/client-s3'
import type { Configuration } from '../platform/configuration/configuration.ts'
import { certificateProblem } from '../platform/kit/certificate-errors.ts'
import { statusOf } from '../platform/storage/stream-upload.ts'

type ObjectStoreSettings = Pick<
  Configuration,
  's3Endpoint' | 's3Region' | 's3Bucket' | 's3AccessKeyId' | 's3SecretAccessKey'
>

/**
 * Rejects with the problem that an operator must fix. After a successful start, the first photograph can be stored.
 * Does not create the bucket.
 */
export async function requireBucket({
  s3Endpoint = '',
  s3Region,
  s3Bucket,
  s3AccessKeyId = '',
  s3SecretAccessKey = '',
}: ObjectStoreSettings): Promise<void> {
  const client = new S3Client({
    endpoint: s3Endpoint,
    region: s3Region,
    forcePathStyle: true,
    credentials: { accessKeyId: s3AccessKeyId, secretAccessKey: s3SecretAccessKey },
    requestHandler: { requestTimeout: 5_000, connectionTimeout: 5_000 },
  })
  try {
    await client.send(new HeadBucketCommand({ Bucket: s3Bucket }))
  } catch (error) {
    throw new Error(certificateProblem('S3_ENDPOINT', error) ?? messageOf(statusOf(error), s3Bucket), { cause: error })
  } finally {
    client.destroy()
  }
}

function messageOf(status: number | undefined, bucket: string): string {
  if (status === undefined || status >= 500) return 'the object store of S3_ENDPOINT does not answer'
  if (status === 404) return `the object store of S3_ENDPOINT has no bucket ${bucket}: create it, or set S3_BUCKET`
  if (status === 301) return `the bucket ${bucket} lies in another region: set S3_REGION`
  return `the object store of S3_ENDPOINT refuses the bucket ${bucket} (status ${status}): S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY must allow it`
}
