import type { RouteHandlerMethod } from 'fastify'
import { Problem, problem } from './problems.ts'

/** Whether a read model contains everything that was recorded when this is asked; waits a little for it. */
export type IsCurrent = (projector: string) => Promise<boolean>

declare module 'fastify' {
  interface FastifyInstance {
    isCurrent: IsCurrent
  }
}

/**
 * The handler of a GET, which says of a record that it does not exist only where the read models hold everything: a
 * record that a write has just acknowledged may not have reached them yet. Throws `read-model-behind` then.
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
