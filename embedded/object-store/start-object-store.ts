import type { ChildServer } from 'embedded-eventstore/child-server'
import { startStandIn, type StandIn } from '../stand-ins/start-stand-ins.ts'

export type ObjectStoreOptions = {
  dataDir: string
  /** A port of 127.0.0.1. 0 takes a free one. */
  port: number
  accessKeyId: string
  secretAccessKey: string
  /** Created when missing. */
  bucket: string
  /** Pages of these origins may upload and read. */
  origins?: readonly string[]
  onLog?: (line: string) => void
}

type Addresses = {
  /** For `@aws-sdk/client-s3`, with `forcePathStyle` and any region. */
  endpoint: string
}

export type EmbeddedObjectStore = ChildServer & Addresses

/** An S3-compatible store over `dataDir`. */
export function objectStore({
  dataDir,
  port,
  accessKeyId,
  secretAccessKey,
  bucket,
  origins = [],
}: ObjectStoreOptions): StandIn<Addresses> {
  return {
    name: 'object store',
    command: [
      'object-store',
      `--data=${dataDir}`,
      `--port=${port}`,
      `--bucket=${bucket}`,
      ...origins.map((origin) => `--origin=${origin}`),
    ],
    env: { S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey },
    port,
    at: (bound) => ({ endpoint: `http://127.0.0.1:${bound}` }),
  }
}

/** Starts it in its own process. Throws with its last log lines when it does not start. */
export async function startObjectStore(options: ObjectStoreOptions): Promise<EmbeddedObjectStore> {
  return startStandIn(objectStore(options), options)
}
