import type { TenantId } from '../../platform/kit/tenants.ts'
import { isDefined, templateOf, type NotificationTemplate } from '../../streams/notification-template/aggregate.ts'
import type { NotificationChannel } from '../../streams/types.ts'
import type { EventStore } from '../../engine/store/event-store.ts'

export const defaultLocale = 'en-GB'

export interface WantedTemplate {
  readonly code: string
  readonly channel: NotificationChannel
  /** Of the recipient; null if it is not known. */
  readonly locale: string | null
  /** Null: the defaults of the platform only. */
  readonly orgId: TenantId | null
}

/**
 * Finds the template of a message: the organisation's in the locale of the recipient, the platform's in that locale,
 * then both in the default locale. Reads the streams, so a change takes effect as soon as its request is answered.
 */
export async function findTemplate(
  store: Pick<EventStore, 'load'>,
  { code, channel, locale, orgId }: WantedTemplate,
): Promise<NotificationTemplate | undefined> {
  const locales = new Set([locale === null ? defaultLocale : (canonicalLocale(locale) ?? defaultLocale), defaultLocale])
  for (const wanted of locales) {
    for (const owner of new Set([orgId, null])) {
      // Most messages find theirs in the first two places, so the others are not read in advance.
      const { state } = await store.load(templateOf({ orgId: owner, code, channel, locale: wanted }))
      if (isDefined(state)) return state
    }
  }
  return undefined
}

/** The usual spelling of a BCP 47 tag; undefined for another text. */
export function canonicalLocale(locale: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(locale)[0]
  } catch {
    return undefined
  }
}
