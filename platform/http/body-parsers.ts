import type { FastifyInstance, FastifyRequest } from 'fastify'
import { problem } from '../problems.ts'

/** Far above what the interface allows (clinical_context has 16), far below what recursion could not bear. */
const deepestNesting = 64
const mostMembers = 200_000

/** JSON for every route; form data only where the route's configuration says `form: true`. */
export function addBodyParsers(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    requirePlainEncoding(request.headers['content-encoding'])
    if (request.routeOptions.config.form === true) throw problem('unsupported-media-type')
    return parseJson(body)
  })
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    requirePlainEncoding(request.headers['content-encoding'])
    if (request.routeOptions.config.form !== true) throw problem('unsupported-media-type')
    return parseForm(body)
  })
}

/** No body is unpacked here: a small one could hold an enormous one. */
export function requirePlainEncoding(encoding: string | undefined): void {
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') throw problem('unsupported-media-type')
}

/** An empty body is no body: routes without one are called with a JSON content type too. */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
  const value = readJson(bytes)
  requireStorable(value)
  return value
}

function readJson(bytes: Buffer): unknown {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return value
  } catch {
    throw problem('malformed-body')
  }
}

/**
 * Refuses what could not be stored and read back unchanged, or would break a reader: lone surrogates, U+0000 (Postgres),
 * numbers beyond the double range, `__proto__`, and nesting that recursion could not bear.
 */
function requireStorable(root: unknown): void {
  let members = 0
  let level: unknown[] = [root]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > deepestNesting) throw problem('malformed-body', { detail: `The body is nested deeper than ${deepestNesting} levels.` })
    const next: unknown[] = []
    for (const value of level) {
      if (typeof value === 'string') requireStorableText(value)
      else if (typeof value === 'number' && !Number.isFinite(value)) throw problem('malformed-body', { detail: 'A number is out of range.' })
      else if (typeof value === 'object' && value !== null) {
        if (!Array.isArray(value)) Object.keys(value).forEach(requireStorableName)
        for (const member of Object.values(value) as unknown[]) next.push(member)
      }
    }
    members += next.length
    if (members > mostMembers) throw problem('malformed-body', { detail: 'The body has too many members.' })
    level = next
  }
}

function requireStorableText(text: string): void {
  if (!text.isWellFormed() || text.includes('\0')) throw problem('malformed-body', { detail: 'A text holds U+0000 or half of a surrogate pair.' })
}

function requireStorableName(name: string): void {
  requireStorableText(name)
  if (name === '__proto__') throw problem('malformed-body', { detail: 'A member has a name that is not allowed.' })
}

/** A repeated parameter becomes a list, which no schema of ours accepts (RFC 6749, 3.2). */
function parseForm(bytes: Buffer): Record<string, string | string[]> {
  const parameters = new URLSearchParams(bytes.toString('utf8'))
  const names = [...new Set(parameters.keys())]
  return Object.fromEntries(names.map((name) => {
    const values = parameters.getAll(name)
    return [name, values.length === 1 ? (values[0] ?? '') : values]
  }))
}
