import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { metricsType, type Metrics } from '../observability/metrics.ts'
import { answers, serverProblems } from './answers.ts'
import { monitoredPlaces } from './health-routes.ts'
import type { Schemas } from './schemas.ts'
import type { ServicePrefix } from './service.ts'

/** `/metrics`, for anybody. Every place shows the figures of the whole process. */
export function addMetricsRoutes(
  app: FastifyInstance,
  schemas: Schemas,
  metrics: Metrics,
  services: readonly ServicePrefix[],
): void {
  const figures = {
    description: 'The text format 0.0.4 of Prometheus',
    content: { 'text/plain': { schema: Type.String() } },
  }
  const described = schemas.hoist({
    tags: ['health'],
    summary: 'Figures of the process, for Prometheus',
    security: [],
    response: answers({ 200: figures }, ['internal-error', ...serverProblems]),
  })
  for (const { base, service, isRepeated } of monitoredPlaces(services)) {
    const operationId = service === undefined ? 'metrics' : `metrics-${service}`
    const schema = { ...described, operationId, hide: isRepeated }
    app.get(`${base}/metrics`, { schema, config: { access: 'public', isForMonitoring: true } }, async (_, reply) =>
      reply.type(metricsType).send(await metrics.text()),
    )
  }
}
