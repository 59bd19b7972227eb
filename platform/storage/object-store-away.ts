/**
 * Whether an error of the S3 client says that the object store did not answer, or that it cannot now. Loads no client:
 * such errors contain `$metadata`.
 */
export function isObjectStoreAway(error: unknown): boolean {
  return isOfObjectStore(error) && !isRefused(error)
}

/** Whether the object store has refused the call. Another try is refused, too. */
export function isRefused(error: unknown): boolean {
  if (!isOfObjectStore(error)) return false
  const { httpStatusCode: status } = error.$metadata
  return typeof status === 'number' && status < 500
}

function isOfObjectStore(error: unknown): error is Error & { $metadata: { httpStatusCode?: unknown } } {
  return (
    error instanceof Error && '$metadata' in error && typeof error.$metadata === 'object' && error.$metadata !== null
  )
}
