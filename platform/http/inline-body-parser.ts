import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { parseJson } from './body-parsers.ts'
import { createExtraction, type Extracted } from './json-extraction.ts'
import { readBody } from './request-body.ts'
import type { ServiceApp } from './service.ts'

/** Where the strings at `/images/<n>/data` go instead of into the parsed body. One begins after another has ended. */
export interface InlineSinks {
  begin(index: number): void
  /** Resolves when there is room for more; the text may be overwritten then. */
  write(text: Buffer): Promise<void>
  end(): Promise<void>
  /** Gives up whatever is still kept of the request; called before every answer, and at any other time too. */
  discard(): Promise<void>
}

export interface InlineBodyOptions<Sinks extends InlineSinks> {
  /** Bytes of a whole body. */
  readonly mostBytes: number
  /** Bytes of what remains without those strings. */
  readonly mostRest: number
  readonly open: () => Sinks
}

/**
 * Reads the JSON bodies of a scope as they come: nothing of a body is kept but its rest, in which the strings at
 * `/images/<n>/data` are empty, and a body is taken no faster than the sinks take it.
 *
 * @returns what became of a request's strings; undefined without a body
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
  // Runs for refusals too, and after a client has gone.
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
