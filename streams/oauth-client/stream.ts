export const category = 'oauth_client'

/** Clients belong to no organisation's tree: a platform client has none. */
export function oauthClientStream(clientId: string): string {
  return `${category}-${clientId}`
}
