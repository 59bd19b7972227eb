import manifest from '../../package.json' with { type: 'json' }

/** Version of the contract: of OpenAPI, AsyncAPI and the header API-Version. It follows the package. */
export const contractVersion = manifest.version

/** The headers of every answer of the server, also without a route. Public metadata replaces `cache-control`. */
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
