import { setTimeout as sleep } from 'node:timers/promises'
import { uploadAll } from '../../../test/end-to-end/main-job/uploads.ts'
import type { Photograph } from '../../../test/support/main-job.ts'

const tries = 20
const pauseMs = 150

/**
 * Whether all photographs of the record reached the object store. Nothing kills it. If it fails nevertheless, the
 * report shows it and the load continues.
 */
export async function isUploaded(record: unknown, photographs: readonly Photograph[]): Promise<boolean> {
  for (let left = tries; left > 0; left -= 1) {
    const isTaken = await uploadAll(record, photographs).then(
      () => true,
      () => false,
    )
    if (isTaken) return true
    await sleep(pauseMs)
  }
  return false
}
