import { processes } from '../../processes/registry.ts'
import { readModels } from '../../projections/registry.ts'
import { accessLogs } from '../../streams/access-log/aggregate.ts'
import { backups } from '../../streams/backups/aggregate.ts'
import { catalogue } from '../../streams/catalogue.ts'
import { logSeals } from '../../streams/log-seals/aggregate.ts'
import { operations } from '../../streams/operations/aggregate.ts'
import { projections } from '../../streams/projection/aggregate.ts'

/** Categories with a handler in a read model or a to-do list. */
const listenedTo = new Set(
  [...readModels, ...processes.map(({ list }) => list)].flatMap(({ handlers }) =>
    Object.keys(handlers).map((type) => catalogue.entry(type)?.category),
  ),
)

/** Only commands read these streams. */
const unread = new Set([backups, logSeals, projections].map(({ category }) => category))

/**
 * Streams that any projector may listen to. Excludes streams that only commands read, and channels that nothing here
 * reads: the server would send their events for nothing.
 */
export const projectedStreams: readonly string[] = catalogue.categories
  .filter((category) => !unread.has(category))
  .filter((category) => !category.endsWith('.events') || listenedTo.has(category))
  .map((category) => (category.endsWith('.events') || category === operations.category ? category : `${category}-`))

/** The same for the to-do lists alone. The access log has an event for each read, and no list listens to it. */
export const listedStreams: readonly string[] = projectedStreams.filter(
  (prefix) => prefix !== `${accessLogs.category}-`,
)
