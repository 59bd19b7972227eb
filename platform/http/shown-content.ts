import type { FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import { purposesOfUse, type PersonalCategory, type PurposeOfUse } from '../kit/personal-content.ts'
import type { TenantId } from '../kit/tenants.ts'
import { personalReaderOf } from './personal-members.ts'
import { problem } from './problems.ts'

/** One answer that shows personal content: who got it, about whom, and what it shows. */
export interface Access {
  /** `noOrganisation` if the request named none. */
  readonly orgId: TenantId
  /** Null for a command of the operator. */
  readonly clientId: string | null
  readonly userId: string | null
  readonly patientIds: readonly string[]
  /** The user whose contact the answer shows. */
  readonly subjectUserId: string | null
  readonly categories: readonly PersonalCategory[]
  /** `operationId` of the route. */
  readonly operation: string
  readonly purpose: PurposeOfUse | null
  readonly requestId: string | null
  readonly sourceAddress: string | null
}

export interface AccessLog {
  /**
   * Resolves when the access is recorded. Then the answer may leave.
   * @throws Problem `access-log-unavailable`
   */
  record(access: Access): Promise<void>
}

/** The persons whose content a record shows. */
export interface Persons {
  readonly patientId?: string | null | undefined
  readonly userId?: string | undefined
}

/** The personal content of an answer. A route names it before it answers. */
export interface ShownContent {
  readonly orgId: TenantId
  readonly categories: ReadonlySet<PersonalCategory>
  readonly patientIds: ReadonlySet<string>
  readonly userId: string | null
}

/**
 * Whether the erasure of a patient has begun. Without an organisation: in any of them.
 */
export type IsErased = (orgId: TenantId, patientId: string) => boolean

declare module 'fastify' {
  interface FastifyInstance {
    accessLog: AccessLog
    isErased: IsErased
  }
  interface FastifyRequest {
    shown: ShownContent | undefined
  }
  interface FastifyContextConfig {
    /** The route may show personal content. Such an answer leaves once it is in the access log. */
    showsPersonal?: true
  }
}

/** Names the personal content of an answer. `parts` are its records, each with its persons. Without a person, a record shows none. */
export function nameShown(
  request: FastifyRequest,
  orgId: TenantId,
  parts: readonly { readonly content: ReadonlySet<PersonalCategory>; readonly persons: Persons }[],
): void {
  const categories = new Set<PersonalCategory>()
  const patientIds = new Set<string>()
  let userId: string | null = null
  for (const { content, persons } of parts) {
    const hasPerson = typeof persons.patientId === 'string' || persons.userId !== undefined
    if (content.size === 0 || !hasPerson) continue
    for (const category of content) categories.add(category)
    if (typeof persons.patientId === 'string') patientIds.add(persons.patientId)
    userId = persons.userId ?? userId
  }
  request.shown = { orgId, categories, patientIds, userId }
}

/** @throws Problem `subject-erased` if the erasure of the patient has begun */
export function requireLiving({ server }: FastifyRequest, orgId: TenantId, { patientId }: Persons): void {
  if (typeof patientId === 'string' && server.isErased(orgId, patientId)) throw problem('subject-erased')
}

const successes = [200, 201, 202]

/**
 * Whether the 200 of a route may show personal content. The first answer to a create (201, 202) shows what its caller
 * sent. Its repeats, and an answer that was held until the result, may show more: the route names that.
 * @throws Error if the schema marks personal content and the route names no persons, or the other way round
 */
export function requireNamedPersons(url: string, { response }: FastifySchema, showsPersonal: true | undefined): void {
  const replies = new Map<string, unknown>(Object.entries(response ?? {}))
  const isMarked = (status: number): boolean => {
    const reply: unknown = replies.get(String(status))
    return typeof reply === 'object' && reply !== null && personalReaderOf(reply) !== undefined
  }
  if (isMarked(200) && showsPersonal !== true)
    throw new Error(`the answer of ${url} shows personal content, and the route does not say whose (shows)`)
  if (showsPersonal === true && !successes.some(isMarked))
    throw new Error(`${url} names the persons of its answer, whose schema marks no personal content`)
}

/** Before a route answers: the purpose is one of the codes. */
export async function requireKnownPurpose({ headers }: FastifyRequest): Promise<void> {
  purposeOf(headers['x-purpose-of-use'])
}

function purposeOf(header: string | readonly string[] | undefined): PurposeOfUse | null {
  if (header === undefined) return null
  const purpose = purposesOfUse.find((code) => code === header)
  if (purpose === undefined) throw problem('unknown-purpose')
  return purpose
}

/** Before the answer leaves: its access is recorded. Nothing personal leaves otherwise. */
export async function recordShown(request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> {
  if (!successes.includes(reply.statusCode) || request.method === 'HEAD') return payload
  const { shown, caller, routeOptions } = request
  if (shown === undefined) {
    if (reply.statusCode !== 200) return payload
    throw new Error('the route does not say whose personal content its answer shows')
  }
  const { orgId, categories, patientIds, userId: subjectUserId } = shown
  if (categories.size === 0) return payload
  const access = {
    orgId,
    clientId: caller.clientId,
    userId: caller.actor?.auditId ?? null,
    patientIds: [...patientIds].toSorted(),
    subjectUserId,
    categories: [...categories].toSorted(),
    operation: String(routeOptions.schema?.operationId),
    purpose: purposeOf(request.headers['x-purpose-of-use']),
    requestId: request.id,
    sourceAddress: request.ip,
  }
  try {
    await request.server.accessLog.record(access)
  } catch (error) {
    // Headers of the record that does not leave.
    for (const name of ['etag', 'link']) reply.removeHeader(name)
    throw error
  }
  return payload
}
