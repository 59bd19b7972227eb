import { mkdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { RunningServer, ServerEnvironment } from '../children/live-as-child.ts'
import { listenOnLoopback, stopListening } from '../children/loopback-server.ts'
import { S3Error } from './errors.ts'
import { Objects } from './objects.ts'
import { objectStoreServer } from './server.ts'
import { Uploads } from './uploads.ts'

export async function serveObjectStore(args: string[], env: ServerEnvironment): Promise<RunningServer> {
  const { values } = parseArgs({
    args,
    options: {
      data: { type: 'string' },
      port: { type: 'string' },
      bucket: { type: 'string', multiple: true, default: [] },
      origin: { type: 'string', multiple: true, default: [] },
    },
  })
  const accessKeyId = env['S3_ACCESS_KEY_ID']
  const secretAccessKey = env['S3_SECRET_ACCESS_KEY']
  if (values.data === undefined || accessKeyId === undefined || secretAccessKey === undefined) {
    throw new Error('embedded object store needs --data, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY')
  }
  const dataDir = resolve(values.data)
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const objects = await Objects.open(dataDir)
  for (const bucket of values.bucket) {
    await objects.createBucket(bucket).catch((error: unknown) => {
      if (!(error instanceof S3Error && error.code === 'BucketAlreadyOwnedByYou')) throw error
    })
  }
  const onFailure = (error: unknown) =>
    void process.stderr.write(
      `request failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    )
  const stored = { objects, uploads: new Uploads(dataDir, objects) }
  const server = objectStoreServer(stored, { accessKeyId, secretAccessKey }, onFailure, values.origin)
  const port = await listenOnLoopback(server, 'embedded object store', Number(values.port ?? 0))
  return { port, stop: () => stopListening(server) }
}
