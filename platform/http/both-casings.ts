import type { FastifyRequest } from 'fastify'
import { invalidMember, problem, type MemberError, type Problem } from './problems.ts'

export type Casing = 'snake' | 'camel'

declare module 'fastify' {
  interface FastifyRequest {
    /** By the name in the schema: how the caller wrote a member of the body, where that differs. */
    sentNames: ReadonlyMap<string, string> | undefined
  }
}

const mostRenamed = 100
const toSnake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const toCamel = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/**
 * Reads a body in both casings. Before validation, members are renamed to the casing of the schema. The same member in
 * both casings is refused.
 */
export function readsBothCasings(casing: Casing) {
  const rename = casing === 'snake' ? toSnake : toCamel
  return async (request: FastifyRequest): Promise<void> => {
    const { body } = request
    if (typeof body !== 'object' || body === null || Array.isArray(body)) return
    // The schema refuses so many members in any casing.
    if (Object.keys(body).length > mostRenamed) return
    const renamed = new Map<string, unknown>()
    const sentNames = new Map<string, string>()
    for (const [name, value] of Object.entries(body)) {
      const canonical = rename(name)
      if (renamed.has(canonical)) {
        throw invalidMember(`/${name}`, 'stands in the body in both casings', 'doubled')
      }
      renamed.set(canonical, value)
      if (name !== canonical) sentNames.set(canonical, name)
    }
    request.body = Object.fromEntries(renamed)
    if (sentNames.size > 0) request.sentNames = sentNames
  }
}

/** A refusal whose pointers name the members of the body as the caller wrote them. */
export function asSent(refusal: Problem, { sentNames }: FastifyRequest): Problem {
  const { code, detail, errors, headers, extensions, cause } = refusal
  if (sentNames === undefined || errors === undefined) return refusal
  const named = errors.map((error) => ({ ...error, pointer: sentPointer(error, sentNames) }))
  return problem(code, { detail, errors: named, headers, extensions, cause })
}

function sentPointer({ pointer }: MemberError, sentNames: ReadonlyMap<string, string>): string {
  const [, member = '', ...inside] = pointer.split('/')
  const sent = sentNames.get(member)
  return sent === undefined ? pointer : ['', sent, ...inside].join('/')
}
