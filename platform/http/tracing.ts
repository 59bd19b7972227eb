import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { noTracer, tracedMethods, withinTrace, type Span, type Tracer } from '../kit/tracing.ts'
import { callersTraceparent, traceparentFrom } from './request-context.ts'

declare module 'fastify' {
  interface FastifyRequest {
    span: Span | undefined
  }
}

/** Gives each request its correlation id and trace, and a span unless it is for monitoring. */
export function addTracing(app: FastifyInstance, tracer: Tracer): void {
  for (const name of ['correlationId', 'traceparent', 'span'] as const) app.decorateRequest(name)
  // Only callbacks continue the trace in the hooks and the handler behind them.
  app.addHook('onRequest', (request, _reply, done) => {
    const { url, config } = request.routeOptions
    const header = request.headers['traceparent']
    const method = tracedMethods.find((traced) => traced === request.method) ?? '_OTHER'
    const route = config.documentedPath ?? url ?? 'unknown'
    request.correlationId = randomUUID()
    if (tracer !== noTracer && config.isForMonitoring !== true)
      request.span = tracer.start(`${method} ${route}`, {
        parent: callersTraceparent(header),
        kind: 'server',
        attributes: {
          'http.request.method': method,
          'http.route': route,
          'platform.correlation.id': request.correlationId,
        },
      })
    request.traceparent = request.span?.traceparent ?? traceparentFrom(header)
    withinTrace(request.traceparent, done)
  })
  // The body arrived in events of the socket, which are of no trace.
  app.addHook('preValidation', (request, _reply, done) => withinTrace(request.traceparent, done))
  app.addHook('onResponse', (request, { statusCode }, done) => {
    request.span?.end({
      'http.response.status_code': statusCode,
      'error.type': statusCode >= 500 ? String(statusCode) : undefined,
      'platform.organisation.id': request.caller?.orgId ?? undefined,
    })
    done()
  })
}
