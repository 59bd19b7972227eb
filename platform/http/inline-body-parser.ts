import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { parseJson } from './body-parsers.ts'
import { createExtraction, type Extracted } from './json-extraction.ts'
import { readBody } from './request-body.ts'
import type { ServiceApp } from './service.ts'

/** Receives the strings at `/images/<n>/data` instead of the parsed body. One starts after another has ended. */
export interface InlineSinks {
  begin(index: number): void
  /** Resolves when there is room for more. The text may be overwritten then. */
  write(text: Buffer): Promise<void>
  end(): Promise<void>
  /** Discards all kept data of the request. Called before every answer, and possibly at other times. */
  discard(): Promise<void>
}

export interface InlineBodyOptions<Sinks extends InlineSinks> {
  /** Limit of a whole body, in bytes. */
  readonly mostBytes: number
  /** Limit of the body without those strings, in bytes. */
  readonly mostRest: number
  readonly open: () => Sinks
}

/**
 * Reads the JSON bodies of a scope while they arrive. Keeps only the rest of a body, with empty strings at
 * `/images/<n>/data`. Reads no faster than the sinks write.
 * @returns the sinks of a request's strings; undefined without a body
 */
export function addInlineBodyParser<Sinks extends InlineSinks>(
  scope: ServiceApp,
  { mostBytes, mostRest, open }: InlineBodyOptions<Sinks>,
): (request: FastifyRequest) => Sinks | undefined {
  const opened = new WeakMap<FastifyRequest, Sinks>()
  scope.removeContentTypeParser('application/json')
  scope.addContentTypeParser('application/json', async (request: FastifyRequest, payload: Readable) => {
    const extraction = createExtraction({ mostRest })
    let sinks: Sinks | undefined
    await readBody(request, payload, mostBytes, {
      begin() {
        sinks = open()
        opened.set(request, sinks)
      },
      async take(chunk) {
        if (sinks !== undefined) await pass(extraction.push(chunk), sinks)
      },
    })
    return parseJson(extraction.rest())
  })
  // Also runs for refusals, and after the client has disconnected.
  scope.addHook('onSend', async (request, _, payload) => {
    await opened.get(request)?.discard()
    return payload
  })
  return (request) => opened.get(request)
}

async function pass(extracted: readonly Extracted[], sinks: InlineSinks): Promise<void> {
  for (const part of extracted) {
    if (part.kind === 'begin') sinks.begin(part.index)
    else if (part.kind === 'text') await sinks.write(part.text)
    else await sinks.end()
  }
}
