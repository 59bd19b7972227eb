import { actorContext, at, textAt } from '../../../app/demo/members.ts'
import { requestToken, type ClientSecrets } from '../../support/raw-api.ts'
import { isForOperators } from '../../support/operations.ts'

/** Addresses to request, by the path template of their route in the OpenAPI document. */
export type Questions = Readonly<Record<string, readonly string[]>>

export interface Asking {
  readonly baseUrl: string
  readonly orgId: string
  readonly client: ClientSecrets
  /** The actor of every request, and the actor's product. */
  readonly userId: string
  readonly productId: string
}

/** The templates of all documented GET routes that answer a client of an organisation with records. */
export async function recordRoutes(baseUrl: string): Promise<readonly string[]> {
  const document: unknown = await (await fetch(`${baseUrl}/openapi.json`)).json()
  return Object.entries(at(document, 'paths') ?? {})
    .filter(
      ([path, methods]) =>
        at(methods, 'get') !== undefined &&
        path.startsWith('/v1/') &&
        !path.includes('.well-known') &&
        !isForOperators(path) &&
        // Their scopes are granted by platform callers only.
        !path.startsWith('/v1/audit/') &&
        !path.startsWith('/v1/operations/') &&
        // The other answers make it longer.
        !path.endsWith('/access-log') &&
        !path.endsWith('/contact') &&
        !path.endsWith('/provenance') &&
        !path.endsWith('/erasure') &&
        !path.endsWith('/legal-hold') &&
        !path.endsWith('/unsubscribe') &&
        !path.endsWith('/raw'),
    )
    .map(([path]) => path)
    .toSorted()
}

/**
 * The answers by address: status, ETag and the bytes of the body, without parts that each answer signs or seals again.
 */
export async function answersTo(
  questions: Questions,
  { baseUrl, orgId, client, userId, productId }: Asking,
): Promise<Readonly<Record<string, string>>> {
  const { body: token } = await requestToken(baseUrl, client)
  const headers = {
    authorization: `Bearer ${textAt(token, 'access_token')}`,
    'x-actor-context': actorContext(
      orgId,
      ['auth:admin', 'consents:admin', 'human-review:decide', 'notifications:admin', 'users:admin'],
      userId,
      [productId],
    ),
  }
  const answers = await Promise.all(
    Object.values(questions)
      .flat()
      .map(async (address): Promise<[string, string]> => {
        const response = await fetch(`${baseUrl}${address}`, { headers })
        const etag = response.headers.get('etag')?.replace(/\.\d+"$/, '"') ?? 'no etag'
        return [address, `${response.status} ${etag} ${asRecorded(await response.text())}`]
      }),
  )
  return Object.fromEntries(answers)
}

function asRecorded(body: string): string {
  return body
    .replaceAll(/\?X-Amz-[^"]*/g, '')
    .replaceAll(/("next_?[cC]ursor":)"[^"]*"/g, '$1"sealed"')
    .replaceAll(/"(issued_at|expires_at|token)":"[^"]*"/g, '"$1":"signed"')
    .replaceAll(/"receipt":"[^"]*"/g, '"receipt":"signed"')
}
