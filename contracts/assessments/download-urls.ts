import type { ObjectStore } from '../../platform/storage/object-store.ts'
import type { AssessmentView } from './record.ts'

/** Signed addresses of a completed assessment's images, by object key; none for any other status. */
export async function signDownloads(
  objects: Pick<ObjectStore, 'presignDownload'>,
  view: AssessmentView,
  ttlSeconds: number,
): Promise<ReadonlyMap<string, string>> {
  if (view.status !== 'completed') return new Map()
  const keys = view.images.flatMap(({ objectKey }) => (objectKey === null ? [] : [objectKey]))
  const signed = await Promise.all(
    keys.map(async (key) => [key, (await objects.presignDownload(key, ttlSeconds)).url] as const),
  )
  return new Map(signed)
}
