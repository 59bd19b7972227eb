/** What every answer of the server has, also where no route was reached; public metadata replaces `cache-control`. */
export function commonHeaders({
  requestId,
  traceparent,
  version,
}: {
  readonly requestId: string
  readonly traceparent: string
  readonly version: string
}): Record<string, string> {
  return {
    'x-request-id': requestId,
    traceparent,
    'api-version': version,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  }
}
