import { LRUCache } from 'lru-cache'
import { atMost } from '../../platform/kit/at-most.ts'
import { problem } from '../../platform/http/problems.ts'
import { formatPosition } from '../../platform/kit/positions.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { within } from '../../platform/kit/time-limits.ts'
import { usersProjector } from '../../projections/users/users.projector.ts'
import type { Opened } from '../../engine/reads/opened.ts'
import { requireCurrent, type ReadDependencies } from '../../engine/reads/read-route.ts'
import { askInRounds } from '../../engine/reads/rounds.ts'
import { findUsers, presentUser, type UserRow, type UserView } from './queries.ts'

/** Null: the user in all of its organisations. */
interface UserQuestion {
  readonly tenant: TenantId | null
  readonly userId: string
  /** The answer must include everything recorded before the question: whoever asks keeps it until an event. */
  readonly isOfNow: boolean
}

export interface CurrentUsersOptions extends Pick<ReadDependencies, 'pool' | 'vault' | 'isCurrent' | 'positionOf'> {
  /** Milliseconds of a monotonic clock. */
  readonly clockMs?: () => number
}

/** So long the read model counts as current after it contained the end of the log, in milliseconds. */
const currentMs = 500
/** The event store may need longer to say that it is away. */
const longestLookMs = 5_000
const mostUsers = 10_000
/** Rows contain names. The memory of this process forgets them after this time, also if nobody asks again. */
const longestKeptMs = 30_000

/**
 * A user as of at most half a second ago, or as of the question, or a 503. An answered write is always included, because its
 * answer waited for the read model.
 *
 * Rows are kept while the read model does not move: each round of questions reads its position first.
 */
export function createCurrentUsers({ clockMs = () => performance.now(), ...deps }: CurrentUsersOptions) {
  const kept = new LRUCache<string, Opened<UserRow>>({ ...atMost(mostUsers), ttl: longestKeptMs, ttlAutopurge: true })
  let keptAt: string | undefined
  let currentAt = Number.NEGATIVE_INFINITY

  async function requireRecent(isOfNow: boolean): Promise<void> {
    const askedAt = clockMs()
    if (!isOfNow && askedAt - currentAt < currentMs) return
    const looked = requireCurrent(deps, usersProjector).then(() => (currentAt = Math.max(currentAt, askedAt)))
    await within(longestLookMs, looked)
    if (currentAt < askedAt) throw problem('read-model-behind', { retryAfterSeconds: 1 })
  }

  /** Forgets rows from before the present position, and returns it. */
  async function forgetOlder(): Promise<string> {
    const position = await deps.positionOf(usersProjector.name)
    if (position === undefined) throw problem('read-model-behind', { retryAfterSeconds: 1 })
    const present = formatPosition(position)
    if (present !== keptAt) kept.clear()
    keptAt = present
    return present
  }

  return askInRounds<UserQuestion, UserView>(async (questions) => {
    await requireRecent(questions.some(({ isOfNow }) => isOfNow))
    const position = await forgetOlder()
    const rows = new Map<string, Opened<UserRow>>()
    const missing = new Map<string, UserQuestion>()
    for (const question of questions) {
      const row = kept.get(nameOf(question))
      if (row === undefined) missing.set(nameOf(question), question)
      else rows.set(nameOf(question), row)
    }
    const byTenant = Map.groupBy(missing.values(), ({ tenant }) => tenant)
    await Promise.all(
      [...byTenant].map(async ([tenant, asked]) => {
        const ids = asked.map(({ userId }) => userId)
        for (const row of await findUsers(deps, tenant, ids)) {
          rows.set(nameOf({ tenant, userId: row.userId }), row)
          // A later round may have read a later position meanwhile.
          if (keptAt === position) kept.set(nameOf({ tenant, userId: row.userId }), row)
        }
      }),
    )
    return (question) => presentUser(rows.get(nameOf(question)))
  })
}

function nameOf({ tenant, userId }: Omit<UserQuestion, 'isOfNow'>): string {
  return `${tenant ?? ''}/${userId}`
}
