/**
 * Scopes that a client of an organisation may have: those of specification section 5 and the additive ones, except
 * `ai-review:read-raw` and `auth:admin`, which are only for administrative clients.
 */
export const clientScopes = [
  'ai-review:cancel',
  'ai-review:create',
  'ai-review:read',
  'ai-review:supersede',
  'assessments:read',
  'assessments:write',
  'cases:read',
  'cases:write',
  'consents:read',
  'consents:write',
  'images:read',
  'images:write',
  'notifications:admin',
  'notifications:preferences:read',
  'notifications:preferences:write',
  'notifications:read',
  'notifications:send',
  'orchestrator:*',
  'patients:read',
  'patients:write',
  'webhooks:read',
  'webhooks:write',
] as const

/** Scopes that the platform's services need for calls to each other. */
export const serviceScopes = ['ai-review:supersede', 'cases:read', 'consents:read'] as const
