import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { AsOf, Moment, PastAnswer } from '../../contracts/audit/as-of.ts'
import type { PoolClient } from '../../platform/database/database.ts'
import { problem } from '../../platform/http/problems.ts'
import { createTurns } from '../../platform/kit/turns.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { momentOf } from './moments.ts'
import { noAddress, pastApplication, type Past, type PastDependencies } from './past-application.ts'
import { pastListsOfPatient, pastSources } from './past-sources.ts'

/** Answers at a time in a process. */
const mostAnswers = 4
/** More callers are refused. */
const mostWaiting = 50

/**
 * Answers of the past: today's routes in an application of its own, which listens nowhere. Its read models exist for one
 * answer, and contain the events up to the moment. The application is made for the first answer.
 */
export function createPastAnswers(deps: PastDependencies): AsOf & { close(): Promise<void> } {
  const running = new AsyncLocalStorage<Past>()
  const secret = randomBytes(32).toString('base64url')
  let application: Promise<FastifyInstance> | undefined
  const turns = createTurns(mostAnswers)

  async function answerOn(client: PoolClient, tenant: TenantId, moment: Moment, url: string): Promise<PastAnswer> {
    application ??= pastApplication(deps, running, secret)
    const app = await application
    const past: Past = { tenant, moment, client }
    const headers = { authorization: 'Bearer past', 'x-admin-api-secret': secret }
    const { statusCode: status, body } = await running.run(past, async () => app.inject({ url, headers }))
    if (past.refusal !== undefined) throw past.refusal
    // Without its read models the answer is one of the present, unless path, id or query are wrong.
    const isWrong = status === 400 || (status === 404 && past.isRecord === true)
    if (past.tables === undefined && !isWrong) throw problem('path-not-supported')
    if (status >= 500) throw problem('internal-error')
    const { patientIds: [patientId] = [], subjectUserId } = past.access ?? {}
    return { status, body: bodyOf(status, body), persons: { patientId, userId: subjectUserId ?? undefined } }
  }

  return {
    async answer(tenant, moment, path) {
      if (turns.waiting >= mostWaiting) {
        const detail = `${mostWaiting} callers wait for answers of the past. Try again after Retry-After.`
        throw problem('quota-exceeded', { retryAfterSeconds: 1, detail })
      }
      return turns.run(async () => {
        const client = await deps.pool.connect()
        try {
          await client.query('begin')
          return await answerOn(client, tenant, moment, path)
        } finally {
          await client.query('rollback').then(
            () => client.release(),
            () => client.release(true),
          )
        }
      })
    },
    momentOf: (at) => momentOf(deps, at),
    paths: [
      ...Object.keys(pastSources),
      ...Object.keys(pastListsOfPatient).map((path) => `${path}?patient_id=:id`),
    ].map((path) => path.replaceAll(/:(\w+)/g, '{$1}')),
    async close() {
      await (await application)?.close()
    },
  }
}

/** Hints for polling are about the present, and so are the ids of the request in a problem. */
function bodyOf(status: number, text: string): unknown {
  if (text === '') return null
  const leftOut = status < 400 ? ['next_poll_after_ms'] : ['instance', 'request_id']
  return JSON.parse(text, (name, value: unknown) =>
    leftOut.includes(name) ? undefined : value === noAddress ? null : value,
  )
}
