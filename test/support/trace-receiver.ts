import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Type, type Static } from 'typebox'
import { Parse } from 'typebox/value'
import { waitFor } from './platform.ts'

const Value = Type.Object({
  stringValue: Type.Optional(Type.String()),
  intValue: Type.Optional(Type.String()),
  arrayValue: Type.Optional(Type.Object({ values: Type.Array(Type.Object({ stringValue: Type.String() })) })),
})
const Attributes = Type.Array(Type.Object({ key: Type.String(), value: Value }))
const OtlpSpan = Type.Object({
  traceId: Type.String({ pattern: '^[0-9a-f]{32}$' }),
  spanId: Type.String({ pattern: '^[0-9a-f]{16}$' }),
  parentSpanId: Type.Optional(Type.String({ pattern: '^[0-9a-f]{16}$' })),
  flags: Type.Integer(),
  name: Type.String(),
  kind: Type.Integer({ minimum: 1, maximum: 3 }),
  startTimeUnixNano: Type.String({ pattern: '^[0-9]{19}$' }),
  endTimeUnixNano: Type.String({ pattern: '^[0-9]{19}$' }),
  attributes: Attributes,
  status: Type.Object({ code: Type.Integer() }),
})
/** `ExportTraceServiceRequest` of OTLP 1.x in JSON, with nothing but what the platform sends. */
const Request = Type.Object(
  {
    resourceSpans: Type.Array(
      Type.Object(
        {
          resource: Type.Object({ attributes: Attributes }),
          scopeSpans: Type.Array(
            Type.Object({ scope: Type.Object({ name: Type.String() }), spans: Type.Array(OtlpSpan) }),
          ),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
)

export interface ReceivedSpan extends Omit<Static<typeof OtlpSpan>, 'attributes'> {
  readonly attributes: Readonly<Record<string, unknown>>
  /** Attributes of the process. */
  readonly resource: Readonly<Record<string, unknown>>
}

interface Trace {
  /** The span whose parent is no span of the platform. */
  readonly root: ReceivedSpan
  readonly spans: readonly ReceivedSpan[]
  /** The parent of the first span with this name. */
  parentOf(name: string): ReceivedSpan | undefined
  /** The first span with this name. */
  span(name: string): ReceivedSpan | undefined
}

/** A collector of traces (OTLP over HTTP) in memory. */
export interface TraceReceiver {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly endpoint: string
  readonly spans: readonly ReceivedSpan[]
  /** Everything that arrived, as text. */
  readonly bodies: readonly string[]
  readonly heads: readonly { readonly path: string; readonly headers: IncomingHttpHeaders }[]
  /** The spans of a trace below one span, once there is one for each of these names, and the parents of all. */
  trace(traceId: string, names: readonly string[]): Promise<Trace>
  close(): Promise<void>
}

/** @param answer the status of each answer. Undefined: no answer at all */
export async function startTraceReceiver(answer: () => number | undefined = () => 200): Promise<TraceReceiver> {
  const spans: ReceivedSpan[] = []
  const bodies: string[] = []
  const heads: TraceReceiver['heads'][number][] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      heads.push({ path: request.url ?? '', headers: request.headers })
      const status = answer()
      if (status === undefined) return
      const body = Buffer.concat(chunks).toString('utf8')
      if (status < 300) {
        bodies.push(body)
        spans.push(...spansOf(body))
      }
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    endpoint: `http://127.0.0.1:${port}`,
    spans,
    bodies,
    heads,
    trace: (traceId, names) =>
      waitFor(`the spans ${names.join(', ')}`, () => {
        const own = spans.filter((span) => span.traceId === traceId)
        const byId = new Map(own.map((span) => [span.spanId, span]))
        // A span arrives before its parent if that ends later.
        const [root, ...others] = own.filter(({ parentSpanId = '' }) => !byId.has(parentSpanId))
        const span = (name: string) => own.find((each) => each.name === name)
        if (root === undefined || others.length > 0 || !names.every(span)) return undefined
        return { root, spans: own, span, parentOf: (name) => byId.get(span(name)?.parentSpanId ?? '') }
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function spansOf(body: string): ReceivedSpan[] {
  return Parse(Request, JSON.parse(body)).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...span,
        attributes: valuesOf(span.attributes),
        resource: valuesOf(resource.attributes),
      })),
    ),
  )
}

function valuesOf(attributes: Static<typeof Attributes>): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value: { stringValue, intValue, arrayValue } }) => [
      key,
      stringValue ?? arrayValue?.values.map((value) => value.stringValue) ?? Number(intValue),
    ]),
  )
}
