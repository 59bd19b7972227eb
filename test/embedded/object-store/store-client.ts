import { S3Client } from '@aws-sdk/client-s3'
import { type EmbeddedObjectStore, startObjectStore } from '../../../embedded/object-store/start-object-store.ts'

export const BUCKET = 'platform'
export const CREDENTIALS = { accessKeyId: 'test-key', secretAccessKey: 'test-secret' }

export async function startStore(
  dataDir: string,
  port = 0,
  origins: readonly string[] = [],
): Promise<EmbeddedObjectStore> {
  return await startObjectStore({ dataDir, port, bucket: BUCKET, origins, ...CREDENTIALS })
}

export function clientOf(store: EmbeddedObjectStore, credentials = CREDENTIALS): S3Client {
  return new S3Client({
    endpoint: store.endpoint,
    region: 'eu-central-1',
    forcePathStyle: true,
    credentials,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 1,
  })
}
