/**
 * Scopes that every client may have: those of specification section 5 and the additive ones, except those for
 * administrative clients.
 */
const ofClients = {
  'ai-review:cancel': 'Cancel AI reviews',
  'ai-review:create': 'Start AI reviews',
  'ai-review:read': 'Read AI reviews',
  'ai-review:supersede': 'Replace AI reviews by new ones',
  'assessments:read': 'Read assessments',
  'assessments:write': 'Create and submit assessments',
  'cases:read': 'Read cases',
  'cases:write': 'Write cases',
  'consents:read': 'Read consent decisions',
  'consents:write': 'Record consent decisions',
  'events:read': 'Read the public events of every domain',
  'events:read:ai-review': 'Read the public events of ai-review',
  'events:read:assessment': 'Read the public events of assessment',
  'events:read:audit': 'Read the public events of audit',
  'events:read:clinical': 'Read the public events of clinical',
  'events:read:consent': 'Read the public events of consent',
  'events:read:human-review': 'Read the public events of human-review',
  'events:read:notification': 'Read the public events of notification',
  'events:read:users': 'Read the public events of users',
  'events:read:webhook': 'Read the public events of webhook',
  'events:read:workflow': 'Read the public events of workflow',
  'human-review:read': 'Read the policy, tasks and agreement of human review',
  'human-review:write': 'Claim, release and decide tasks of human review',
  'images:read': 'Read images',
  'images:write': 'Write images',
  'notifications:admin': 'Administer notifications',
  'notifications:preferences:read': 'Read notification preferences',
  'notifications:preferences:write': 'Write notification preferences',
  'notifications:read': 'Read notifications',
  'notifications:send': 'Send notifications',
  'orchestrator:*': 'Workflow definitions and instances',
  'orchestrator:read': 'Read workflow definitions and instances',
  'orchestrator:write': 'Write workflow definitions and instances',
  'patients:read': 'Read patients',
  'patients:write': 'Write patients',
  'webhooks:read': 'Read webhook subscriptions',
  'webhooks:write': 'Create webhook subscriptions',
} as const

/** Only clients without an organisation have these, because they reach every organisation. */
const ofPlatformClients = {
  'operations:read': 'See what operators see of the whole installation',
  'operations:write': 'Repair the installation as operators do',
  'users:admin': 'Administer users, memberships and roles of all organisations',
  'users:permissions': 'Register the permissions of a service',
} as const

/** Clients of auditors have these. The operator's command grants them too. */
const ofAuditors = {
  'audit:export': 'Export everything about a patient',
  'audit:read': 'Read timelines, the access log and the sealed log',
  'audit:read-phi': 'Read personal content in timelines and in answers of the past',
} as const

/** Only platform callers grant these. */
const ofPlatform = {
  'ai-review:read-raw': 'Read the raw responses of the provider',
  ...ofAuditors,
  'auth:admin': 'Administer clients',
  'patients:erase': 'Erase patients, and set legal holds',
  'users:contact': 'Look up the address of a user',
  ...ofPlatformClients,
} as const

type NameOf<Scopes> = Extract<keyof Scopes, string>

export const clientScopes = Object.keys(ofClients) as NameOf<typeof ofClients>[]

/** Scopes that the platform's services need for calls to each other. */
export const serviceScopes = ['ai-review:supersede', 'cases:read', 'consents:read', 'users:contact'] as const

/** The start registers them. Nobody else may. */
export const builtInScopes: ReadonlyMap<string, string> = new Map(Object.entries({ ...ofClients, ...ofPlatform }))

/** Scopes that the operator's command grants to a client of an organisation. */
export const operatorScopes: readonly string[] = [...clientScopes, ...Object.keys(ofAuditors), 'patients:erase']

const platformScopes: ReadonlySet<string> = new Set(Object.keys(ofPlatform))

const platformClientScopes: ReadonlySet<string> = new Set(Object.keys(ofPlatformClients))

/** The service under which the built-in scopes are listed. */
export const builtInService = 'platform'

export function isPlatformScope(scope: string): boolean {
  return platformScopes.has(scope)
}

/** Whether a client of this organisation (null: none) would have a scope that only platform clients have. */
export function exceedsOrganisation(orgId: string | null, scopes: readonly string[]): boolean {
  return orgId !== null && scopes.some((scope) => platformClientScopes.has(scope))
}

/** `orchestrator:*` covers itself, `orchestrator:read` and `orchestrator:write`. */
export function isCovered(scope: string, held: Iterable<string>): boolean {
  const star = /^(.+):(?:read|write)$/.exec(scope)?.[1]
  return [...held].some((one) => one === scope || (star !== undefined && one === `${star}:*`))
}
