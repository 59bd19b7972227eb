import { fileURLToPath } from 'node:url'
import { startChild, type ChildServer } from 'embedded-eventstore/child-server'

export type ObjectStoreOptions = {
  dataDir: string
  /** A port of 127.0.0.1. 0 takes a free one. */
  port: number
  accessKeyId: string
  secretAccessKey: string
  /** Created when missing. */
  bucket: string
  onLog?: (line: string) => void
}

export type EmbeddedObjectStore = ChildServer & {
  /** For `@aws-sdk/client-s3`, with `forcePathStyle` and any region. */
  endpoint: string
}

const SERVER = fileURLToPath(new URL('./main.ts', import.meta.url))

/**
 * Starts an S3-compatible store over `dataDir` in its own process. Throws with its last log lines when it does not
 * start.
 */
export async function startObjectStore(options: ObjectStoreOptions): Promise<EmbeddedObjectStore> {
  const child = await startChild({
    name: 'embedded object store',
    script: SERVER,
    args: ['--data', options.dataDir, '--port', String(options.port), '--bucket', options.bucket],
    env: { S3_ACCESS_KEY_ID: options.accessKeyId, S3_SECRET_ACCESS_KEY: options.secretAccessKey },
    ...(options.onLog === undefined ? {} : { onLog: options.onLog }),
  })
  return { endpoint: `http://127.0.0.1:${child.port}`, ...child }
}
