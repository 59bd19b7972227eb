import type { AsOf } from '../../contracts/audit/as-of.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { Logger } from '../../platform/observability/logging.ts'
import { servicesOf, type ServiceDependencies } from '../services.ts'
import type { PastLoad } from './past-events.ts'
import { createPastAnswers } from './past-answers.ts'

/** Answers of the past of all services. */
export function pastOfServices(
  given: Omit<ServiceDependencies, 'asOf'>,
  logger: Logger,
): AsOf & { close(): Promise<void> } {
  const asOf = createPastAnswers({
    ...given,
    logger,
    services: ({ load, ...past }) =>
      servicesOf({ ...given, ...past, store: withLoad(given.store, load), isCurrent: async () => true, asOf }),
  })
  return asOf
}

/** The same event store, whose `load` has the states of the past. */
export function withLoad(store: EventStore, load: PastLoad): EventStore {
  const loadOrPast: EventStore['load'] = async (target) => load(target) ?? store.load(target)
  return new Proxy(store, {
    get: (_, name) => {
      if (name === 'load') return loadOrPast
      const member: unknown = Reflect.get(store, name)
      return typeof member === 'function' ? member.bind(store) : member
    },
  })
}
