import { createSecretKey, type KeyObject } from 'node:crypto'
import { openBytes, sealBytes } from '../../platform/kit/sealed-bytes.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import type { NotificationCategory, NotificationChannel } from '../../streams/types.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'

/** The recipient of a message, and the kind of message that it may stop. */
export interface UnsubscribeSubject {
  readonly userId: string
  readonly orgId: TenantId
  readonly category: NotificationCategory
  readonly channel: NotificationChannel
}

export interface OpenedLink extends UnsubscribeSubject {
  readonly issuedAt: Date
}

interface Claims extends UnsubscribeSubject {
  readonly issuedAtMs: number
}

export interface UnsubscribeHeaders {
  readonly 'List-Unsubscribe': string
  readonly 'List-Unsubscribe-Post': string
}

interface LinkDependencies extends Pick<CommandDependencies, 'now'> {
  readonly vault: Pick<CommandDependencies['vault'], 'secretsOf'>
}
type LinkMaker = LinkDependencies & { readonly configuration: Pick<CommandDependencies['configuration'], 'baseUrl'> }

const lifetimeMs = 180 * 86_400_000
/** Binds the sealed bytes to their purpose, in addition to a key of their own. */
const place = 'unsubscribe link'

/**
 * The address for the member `unsubscribeUrl` of a template. Its token is a credential: whoever has the link can opt the
 * user out, and nothing else. Null for messages that users cannot stop by a link.
 */
export async function unsubscribeUrl(deps: LinkMaker, subject: UnsubscribeSubject): Promise<string | null> {
  const { userId, orgId, category, channel } = subject
  if (!isStoppable(category)) return null
  const claims: Claims = { userId, orgId, category, channel, issuedAtMs: deps.now().getTime() }
  const [newest = new Uint8Array()] = await deps.vault.secretsOf('unsubscribe')
  const token = sealBytes(createSecretKey(newest), place, Buffer.from(JSON.stringify(claims))).toString('base64url')
  return `${deps.configuration.baseUrl}/v1/notifications/unsubscribe?token=${token}`
}

/** Headers of a mail for one-click unsubscription (RFC 8058). Null where `unsubscribeUrl` is. */
export async function unsubscribeHeaders(
  deps: LinkMaker,
  subject: UnsubscribeSubject,
): Promise<UnsubscribeHeaders | null> {
  const url = await unsubscribeUrl(deps, subject)
  return url === null ? null : { 'List-Unsubscribe': `<${url}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }
}

/** What a token of `unsubscribeUrl` names. Only its maker can have written it. */
export async function openUnsubscribeToken(
  deps: LinkDependencies,
  token: string,
): Promise<OpenedLink | 'invalid' | 'expired'> {
  const sealed = Buffer.from(token, 'base64url')
  if (sealed.toString('base64url') !== token) return 'invalid'
  const claims = (await opened(deps, sealed, false)) ?? (await opened(deps, sealed, true))
  if (claims === undefined) return 'invalid'
  return deps.now().getTime() - claims.issuedAt.getTime() < lifetimeMs ? claims : 'expired'
}

export function isStoppable(category: NotificationCategory): boolean {
  return category === 'marketing' || category === 'operational'
}

/** `isMissing`: no known key opens the link. Another process may have made it with a newer one. */
async function opened(
  { vault }: LinkDependencies,
  sealed: Buffer,
  isMissing: boolean,
): Promise<OpenedLink | undefined> {
  for (const secret of await vault.secretsOf('unsubscribe', isMissing)) {
    const claims = claimsIn(createSecretKey(secret), sealed)
    if (claims !== undefined) return claims
  }
  return undefined
}

function claimsIn(key: KeyObject, sealed: Buffer): OpenedLink | undefined {
  try {
    const { issuedAtMs, ...subject } = parsed(openBytes(key, place, sealed).toString('utf8'))
    return { ...subject, issuedAt: new Date(issuedAtMs) }
  } catch {
    return undefined
  }
}

/** Authenticated, so only ever what `unsubscribeUrl` wrote. */
function parsed(text: string): Claims {
  return JSON.parse(text) as Claims
}
