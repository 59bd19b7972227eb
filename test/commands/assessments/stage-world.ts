import { randomBytes } from 'node:crypto'
import { stageImages, type StagedImages } from '../../../commands/assessments/staged-image.ts'
import { connectObjectStore, type ObjectStore } from '../../../platform/storage/object-store.ts'
import { hostedObjectStore } from '../../support/hosted-stand-ins.ts'

/** A separate object store, and images that are staged in it. */
export interface StageWorld {
  readonly objects: ObjectStore
  /** Keys of all stored objects. */
  keys(): Promise<readonly string[]>
  /**
   * Stages a request with these `data` members, in pieces of about 64 KiB. Undefined stands for an image without data.
   */
  stage(data: readonly (string | undefined)[], given?: Partial<ObjectStore>): Promise<StagedImages>
  close(): Promise<void>
}

export async function openStageWorld(): Promise<StageWorld> {
  const account = { accessKeyId: 'test-key', secretAccessKey: 'test-secret' }
  const server = await hostedObjectStore({ bucket: 'images', ...account })
  const objects = connectObjectStore({
    endpoint: server.endpoint,
    region: 'eu-central-1',
    bucket: 'images',
    ...account,
    now: () => new Date(),
  })
  return {
    objects,
    async keys() {
      const keys: string[] = []
      for await (const { key } of objects.list('')) keys.push(key)
      return keys.toSorted()
    },
    async stage(data, given = {}) {
      const staged = stageImages({
        objects: { ...objects, ...given },
        randomPart: () => randomBytes(12).toString('hex'),
      })
      for (const [index, text] of data.entries()) if (text !== undefined) await write(staged, index, text)
      return staged
    },
    async close() {
      objects.close()
      await server.stop()
    },
  }
}

async function write(staged: StagedImages, index: number, data: string): Promise<void> {
  staged.begin(index)
  const text = Buffer.from(data, 'latin1')
  for (let from = 0; from < text.length; from += 65_521) {
    const piece = Buffer.from(text.subarray(from, from + 65_521))
    await staged.write(piece)
    // Like a socket that reuses its memory for the next read.
    piece.fill('x')
  }
  await staged.end()
}
