import type { Readable } from 'node:stream'
import type { FastifyContextConfig, FastifyInstance, FastifyRequest } from 'fastify'
import { readJsonText } from '../kit/json-reading.ts'
import { requireFewMembers } from './member-limits.ts'
import { problem } from './problems.ts'
import { requireOneMeaning } from './repeated-members.ts'
import { wholeBody } from './request-body.ts'
import { requireStorable } from './storable-json.ts'

/** The token request has four parameters, and clients add few of their own. */
const mostParameters = 100

/**
 * Parses JSON for every route; form data only if the route's configuration contains `form`.
 * @param mostBytesOf limit of the bodies of a route
 */
export function addBodyParsers(app: FastifyInstance, mostBytesOf: (config: FastifyContextConfig) => number): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: Readable) => {
    const { config } = request.routeOptions
    if (config.form !== undefined) throw problem('unsupported-media-type')
    return parseJson(await wholeBody(request, payload, mostBytesOf(config)))
  })
  app.addContentTypeParser('application/x-www-form-urlencoded', async (request: FastifyRequest, payload: Readable) => {
    const { config } = request.routeOptions
    if (config.form === undefined) throw problem('unsupported-media-type')
    const body = await wholeBody(request, payload, mostBytesOf(config))
    return config.form === 'ignored' ? undefined : parseForm(body)
  })
  app.addContentTypeParser('multipart/form-data', async (request: FastifyRequest, payload: Readable) => {
    const { config } = request.routeOptions
    if (config.form !== 'ignored') throw problem('unsupported-media-type')
    await wholeBody(request, payload, mostBytesOf(config))
    return undefined
  })
}

/** An empty body counts as no body: callers send a JSON content type to routes without a body too. */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
  const text = wellFormed('UTF-8', () => new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  requireFewMembers(text)
  const value = wellFormed('JSON', () => readJsonText(text))
  requireStorable(value)
  requireOneMeaning(text)
  return value
}

function wellFormed<Value>(form: 'UTF-8' | 'JSON', read: () => Value): Value {
  try {
    return read()
  } catch {
    throw problem('malformed-body', { detail: `The body is not well-formed ${form}.` })
  }
}

/** A repeated parameter becomes a list. No schema of ours accepts a list (RFC 6749, 3.2). */
function parseForm(bytes: Buffer): Record<string, string | string[]> {
  const text = bytes.toString('utf8')
  if (text.split('&', mostParameters + 1).length > mostParameters)
    throw problem('malformed-body', { detail: `A form may have at most ${mostParameters} parameters.` })
  const byName = Map.groupBy(new URLSearchParams(text), ([name]) => name)
  return Object.fromEntries(
    [...byName].map(([name, pairs]) => {
      const values = pairs.map(([, value]) => value)
      return [name, values.length === 1 ? (values[0] ?? '') : values]
    }),
  )
}
