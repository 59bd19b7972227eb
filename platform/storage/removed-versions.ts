import {
  DeleteObjectCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  type ListObjectVersionsCommandOutput,
} from '@aws-sdk/client-s3'
import { Problem } from '../http/problems.ts'
import type { BoundedCalls } from './bounded-calls.ts'
import { outside, statusOf } from './stream-upload.ts'

/**
 * Removes every version of the objects with the prefix, marks of deletion included (`ObjectStore.removeVersions`).
 * @returns how many
 */
export async function removeVersions(store: BoundedCalls, prefix: string): Promise<number> {
  for (let removed = 0; ;) {
    const found = await versionsOf(store, prefix)
    if (found === undefined) return removeCurrent(store, prefix)
    // Each page is removed before the next is read, so the first page is always the next one.
    const versions = [...(found.Versions ?? []), ...(found.DeleteMarkers ?? [])]
    for (const { Key, VersionId } of versions) await removeOne(store, { Key, VersionId })
    if (versions.length === 0) return removed
    removed += versions.length
  }
}

/** Undefined if the store keeps no versions. */
async function versionsOf(
  { client, bucket, bounded }: BoundedCalls,
  prefix: string,
): Promise<ListObjectVersionsCommandOutput | undefined> {
  const command = new ListObjectVersionsCommand({ Bucket: bucket, Prefix: prefix })
  try {
    return await outside(bounded((ending) => client.send(command, ending)))
  } catch (error) {
    if (error instanceof Problem && statusOf(error.cause) === notImplemented) return undefined
    throw error
  }
}

const notImplemented = 501

async function removeCurrent(store: BoundedCalls, prefix: string): Promise<number> {
  const { client, bucket, bounded } = store
  for (let removed = 0; ;) {
    const command = new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix })
    const { Contents = [] } = await outside(bounded((ending) => client.send(command, ending)))
    for (const { Key } of Contents) await removeOne(store, { Key })
    if (Contents.length === 0) return removed
    removed += Contents.length
  }
}

async function removeOne(
  { client, bucket, bounded }: BoundedCalls,
  object: { readonly Key: string | undefined; readonly VersionId?: string | undefined },
): Promise<void> {
  await outside(bounded((ending) => client.send(new DeleteObjectCommand({ Bucket: bucket, ...object }), ending)))
}
