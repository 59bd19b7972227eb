import type { S3Client } from '@aws-sdk/client-s3'

/** The calls of one bucket, each with a time limit. */
export interface BoundedCalls {
  readonly client: S3Client
  readonly bucket: string
  /** Ends a call at its limit, or with the signal of its caller. The client passes the end to its repeats. */
  readonly bounded: <Output>(
    call: (ending: { readonly abortSignal: AbortSignal }) => Promise<Output>,
    callers?: AbortSignal,
  ) => Promise<Output>
}
