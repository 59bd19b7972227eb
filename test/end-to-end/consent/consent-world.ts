import { actorContext, at, textAt } from '../../../app/demo/members.ts'
import type { ApiAnswer, ApiClient, ApiRequest, RawApi } from '../../support/raw-api.ts'
import { watchPlatform, type WatchedPlatform } from '../../support/documented-answers.ts'
import { expecting } from '../../support/main-job.ts'
import { type PlatformInUse } from '../../support/platform.ts'

/** The consent service for a product: one token for all routes, an administrator's actor context for `/admin`. */
export interface ConsentWorld<Platform extends PlatformInUse = PlatformInUse> {
  readonly platform: Platform
  readonly watched: WatchedPlatform
  readonly orgId: string
  readonly api: ApiClient
  /** The same client with the actor context of an administrator. */
  readonly admin: RawApi
  /** A type of that code, with one English text in effect. */
  terms(code: string): Promise<Terms>
  publish(typeId: string, text: Readonly<Record<string, unknown>>): Promise<string>
  decide(
    patientId: string,
    terms: Terms,
    decision: string,
    more?: Readonly<Record<string, unknown>>,
  ): Promise<ApiAnswer>
}

export interface Terms {
  readonly typeId: string
  readonly textId: string
}

/** Earlier than every decision of the tests. */
const effectiveFrom = '2001-01-01T00:00:00.000Z'

export async function openConsentWorld<Platform extends PlatformInUse>(
  platform: Platform,
): Promise<ConsentWorld<Platform>> {
  const watched = watchPlatform(platform.baseUrl)
  const orgId = platform.process.credentials.org_id
  const api = watched.watch(await platform.connect())
  const admin = withHeaders(api, { 'x-actor-context': actorContext(orgId, ['consents:admin']) })
  async function publish(typeId: string, text: Readonly<Record<string, unknown>>): Promise<string> {
    return textAt(
      (await expecting(201, admin.call(`/v1/admin/consent-types/${typeId}/text-versions`, { body: text }))).body,
      'id',
    )
  }
  return {
    platform,
    watched,
    orgId,
    api,
    admin,
    publish,
    async terms(code) {
      const body = { code, displayName: `Terms of ${code}`, legalBasis: 'consent', required: false }
      const typeId = textAt((await expecting(201, admin.call('/v1/admin/consent-types', { body }))).body, 'id')
      return { typeId, textId: await publish(typeId, { locale: 'en-GB', text: 'I agree.', effectiveFrom }) }
    },
    decide: (patientId, { typeId, textId }, decision, more = {}) =>
      api.call(`/v1/patients/${patientId}/consents`, {
        body: { consent_type_id: typeId, text_version_id: textId, decision, ...more },
      }),
  }
}

export function withHeaders(client: RawApi, headers: Readonly<Record<string, string>>): RawApi {
  return {
    call: (path, request: ApiRequest = {}) =>
      client.call(path, { ...request, headers: { ...headers, ...request.headers } }),
  }
}

/** Status and problem code. If members were refused, also the first pointer. */
export function refusal({ status, body }: ApiAnswer): string {
  const pointer = at(body, 'errors', 0, 'pointer')
  return [status, at(body, 'code'), ...(pointer === undefined ? [] : [pointer])].join(' ')
}
