import type { FastifyInstance, FastifyReply } from 'fastify'
import { Type } from 'typebox'
import type { Health, HealthKind } from '../observability/health.ts'
import { answers, serverProblems } from './answers.ts'
import type { Schemas } from './schemas.ts'
import type { ServicePrefix } from './service.ts'

const HealthReply = Type.Object(
  {
    status: Type.String({ description: 'ok, warning or failing' }),
    profile: Type.String({ description: 'development or production' }),
    roles: Type.Optional(
      Type.Array(Type.String(), { description: 'Roles of the process that answers: api, projector, processor' }),
    ),
    checks: Type.Array(
      Type.Object({ name: Type.String(), status: Type.String(), detail: Type.Optional(Type.String()) }),
    ),
  },
  { $id: 'Health' },
)

const kinds = [
  { path: '', kind: 'full', summary: 'State of everything: 503 when any check fails' },
  { path: '/live', kind: 'live', summary: 'Whether the process answers' },
  { path: '/ready', kind: 'ready', summary: 'Whether requests can be served' },
] as const

declare module 'fastify' {
  interface FastifyContextConfig {
    /** For machines that watch the platform. These calls would distort the figures of requests, so they do not count. */
    isForMonitoring?: true
  }
}

/** `/health`, `/health/live` and `/health/ready`; 200 or 503, for anybody. */
export function addHealthRoutes(
  app: FastifyInstance,
  schemas: Schemas,
  health: Health,
  services: readonly ServicePrefix[],
  isStopping: () => boolean,
): void {
  for (const { base, service, isRepeated } of monitoredPlaces(services)) {
    for (const { path, kind, summary } of kinds) {
      const described = {
        tags: ['health'],
        summary,
        operationId: ['health', kind, ...(service === undefined ? [] : [service])].join('-'),
        security: [],
        response: answers({ 200: HealthReply, 503: HealthReply }, serverProblems),
      }
      const schema = { ...schemas.hoist(described), hide: isRepeated }
      app.get(
        `${base}/health${path}`,
        { schema, config: { access: 'public', isForMonitoring: true } },
        async (_, reply) => answer(reply, kind, service),
      )
    }
  }

  async function answer(reply: FastifyReply, kind: HealthKind, service: ServicePrefix | undefined) {
    const report = await health.report(kind, service)
    const isAway = kind !== 'live' && isStopping()
    reply.statusCode = isAway || report.status === 'failing' ? 503 : 200
    if (!isAway) return report
    return {
      ...report,
      status: 'failing',
      checks: [...report.checks, { name: 'server', status: 'failing', detail: 'stopping' }],
    }
  }
}

interface MonitoredPlace {
  readonly base: string
  /** Undefined for the host. */
  readonly service: ServicePrefix | undefined
  /** At a second mount, which OpenAPI leaves out. */
  readonly isRepeated: boolean
}

/** Its `/health` is about all processes, for operators. */
const withoutOwnHealth: ServicePrefix = 'operations'

/** Where health and metrics are served: on the host, and for each service. */
export function monitoredPlaces(services: readonly ServicePrefix[]): readonly MonitoredPlace[] {
  const monitored = services.filter((service) => service !== withoutOwnHealth)
  return [
    { base: '', service: undefined, isRepeated: false },
    ...monitored.flatMap((service) => [
      { base: `/v1/${service}`, service, isRepeated: false },
      { base: `/v1/${service}/v1`, service, isRepeated: true },
    ]),
  ]
}
