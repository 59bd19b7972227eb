import { processes } from '../../processes/registry.ts'
import { readModels } from '../../projections/registry.ts'
import { catalogue } from '../../streams/catalogue.ts'
import { logSeals } from '../../streams/log-seals/aggregate.ts'
import { projections } from '../../streams/projection/aggregate.ts'

const lists = processes.map(({ list }) => list)

/** Categories with a handler in a read model or a to-do list that reads the log with the others. */
const listenedTo = new Set(
  [...readModels.filter(({ apart }) => apart === undefined), ...lists].flatMap(({ handlers }) =>
    Object.keys(handlers).map((type) => catalogue.entry(type)?.category),
  ),
)

/** Categories that only read models with a read of their own listen to. */
const readApart = new Set(
  readModels
    .flatMap(({ apart = [], handlers }) => (apart.length === 0 ? [] : Object.keys(handlers)))
    .map((type) => catalogue.entry(type)?.category)
    .filter((category) => !listenedTo.has(category)),
)

/** Only commands read these streams. */
const unread = new Set([logSeals, projections].map(({ category }) => category))

/**
 * Streams that any projector may listen to, but for those with a read of their own (`apart`). Excludes streams that only
 * commands read, and channels that nothing here reads: the server would send their events for nothing.
 */
export const projectedStreams: readonly string[] = catalogue.categories
  .filter((category) => !unread.has(category) && !readApart.has(category))
  .filter((category) => !category.endsWith('.events') || listenedTo.has(category))
  .map((category) => (category.endsWith('.events') ? category : `${category}-`))
