import {
  DeleteObjectCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  type ListObjectVersionsCommandInput,
  type ListObjectVersionsCommandOutput,
} from '@aws-sdk/client-s3'
import { Problem } from '../http/problems.ts'
import type { BoundedCalls } from './bounded-calls.ts'
import { outside, statusOf, unavailable } from './stream-upload.ts'

/** What a store keeps under one key. */
export interface KeptObject {
  readonly key: string
  /** Marks of deletion come last: where one goes before the versions that it hides, the object is there again. */
  readonly versions: readonly KeptVersion[]
}

interface KeptVersion {
  /** Undefined in a store that keeps no versions. */
  readonly id: string | undefined
  /** By the store's clock. */
  readonly modifiedAt: Date
}

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

/**
 * Everything that the store keeps of the objects with the prefix, by key.
 * @returns false, and yields nothing, if the store keeps no versions
 */
export async function* listVersions(
  store: BoundedCalls,
  prefix: string,
): AsyncGenerator<KeptObject, boolean, undefined> {
  // A page may end between the versions of a key.
  let last: { readonly key: string; readonly versions: KeptVersion[]; readonly marks: KeptVersion[] } | undefined
  let place: Place | undefined = {}
  while (place !== undefined) {
    const page: ListObjectVersionsCommandOutput | undefined = await versionsOf(store, prefix, place)
    if (page === undefined) return false
    for (const { Key, VersionId, LastModified, isMark } of inOrderOfKeys(page)) {
      if (Key === undefined || LastModified === undefined) throw unavailable()
      if (last?.key !== Key) {
        if (last !== undefined) yield { key: last.key, versions: [...last.versions, ...last.marks] }
        last = { key: Key, versions: [], marks: [] }
      }
      const of = isMark ? last.marks : last.versions
      of.push({ id: VersionId, modifiedAt: LastModified })
    }
    const { NextKeyMarker: KeyMarker, NextVersionIdMarker: VersionIdMarker } = page
    place = page.IsTruncated === true && KeyMarker !== undefined ? { KeyMarker, VersionIdMarker } : undefined
  }
  if (last !== undefined) yield { key: last.key, versions: [...last.versions, ...last.marks] }
  return true
}

/** A page has the versions and the marks apart, each by key. */
function inOrderOfKeys({ Versions = [], DeleteMarkers = [] }: ListObjectVersionsCommandOutput) {
  const versions = Versions.map((version) => ({ ...version, isMark: false }))
  const marks = DeleteMarkers.map((mark) => ({ ...mark, isMark: true }))
  return [...versions, ...marks].toSorted(({ Key: one = '' }, { Key: other = '' }) =>
    one === other ? 0 : one < other ? -1 : 1,
  )
}

type Place = Pick<ListObjectVersionsCommandInput, 'KeyMarker' | 'VersionIdMarker'>

/** Undefined if the store keeps no versions. */
async function versionsOf(
  { client, bucket, bounded }: BoundedCalls,
  prefix: string,
  place: Place = {},
): Promise<ListObjectVersionsCommandOutput | undefined> {
  const command = new ListObjectVersionsCommand({ Bucket: bucket, Prefix: prefix, ...place })
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
