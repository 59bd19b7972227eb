import type { RouteHandlerMethod } from 'fastify'
import { Problem, problem } from './problems.ts'

/** Whether a read model contains everything that was recorded before the call. Waits a little for it. */
export type IsCurrent = (projector: string) => Promise<boolean>

declare module 'fastify' {
  interface FastifyInstance {
    isCurrent: IsCurrent
  }
}

/**
 * The handler of a GET. It answers that a record does not exist only if the read models are current. A record of an
 * acknowledged write may be missing in them for a while. In that case it throws `read-model-behind`.
 */
export function certainOfAbsence(handler: RouteHandlerMethod, projectors: readonly string[]): RouteHandlerMethod {
  return async function (request, reply) {
    try {
      return await handler.call(this, request, reply)
    } catch (error) {
      if (!(error instanceof Problem && error.code === 'not-found')) throw error
    }
    for (const projector of projectors) {
      if (!(await request.server.isCurrent(projector))) throw problem('read-model-behind', { retryAfterSeconds: 1 })
    }
    return handler.call(this, request, reply)
  }
}
