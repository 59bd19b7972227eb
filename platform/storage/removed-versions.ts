import {
  DeleteObjectCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  type ListObjectVersionsCommandOutput,
  type S3Client,
} from '@aws-sdk/client-s3'
import { Problem } from '../http/problems.ts'
import { statusOf, unavailable } from './stream-upload.ts'

interface Bucket {
  readonly client: S3Client
  readonly bucket: string
}

/** Removes every version of the objects with the prefix, marks of deletion included (`ObjectStore.removeVersions`). */
export async function removeVersions({ client, bucket }: Bucket, prefix: string): Promise<void> {
  for (;;) {
    const found = await versionsOf({ client, bucket }, prefix)
    if (found === undefined) return removeCurrent({ client, bucket }, prefix)
    // Each page is removed before the next is read, so the first page is always the next one.
    const versions = [...(found.Versions ?? []), ...(found.DeleteMarkers ?? [])]
    for (const { Key, VersionId } of versions)
      await outside(client.send(new DeleteObjectCommand({ Bucket: bucket, Key, VersionId })))
    if (versions.length === 0) return
  }
}

/** Undefined if the store keeps no versions. */
async function versionsOf(
  { client, bucket }: Bucket,
  prefix: string,
): Promise<ListObjectVersionsCommandOutput | undefined> {
  try {
    return await outside(client.send(new ListObjectVersionsCommand({ Bucket: bucket, Prefix: prefix })))
  } catch (error) {
    if (error instanceof Problem && statusOf(error.cause) === notImplemented) return undefined
    throw error
  }
}

const notImplemented = 501

async function removeCurrent({ client, bucket }: Bucket, prefix: string): Promise<void> {
  for (;;) {
    const { Contents = [] } = await outside(client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix })))
    for (const { Key } of Contents) await outside(client.send(new DeleteObjectCommand({ Bucket: bucket, Key })))
    if (Contents.length === 0) return
  }
}

async function outside<Output>(sent: Promise<Output>): Promise<Output> {
  try {
    return await sent
  } catch (error) {
    throw unavailable(error)
  }
}
