import type { AsOf } from '../../contracts/audit/as-of.ts'
import type { Logger } from '../../platform/observability/logging.ts'
import { servicesOf, type ServiceDependencies } from '../services.ts'
import { createPastAnswers } from './past-answers.ts'

/** Answers of the past of all services. */
export function pastOfServices(
  given: Omit<ServiceDependencies, 'asOf'>,
  logger: Logger,
): AsOf & { close(): Promise<void> } {
  const asOf = createPastAnswers({
    ...given,
    logger,
    services: (past) => servicesOf({ ...given, ...past, isCurrent: async () => true, asOf }),
  })
  return asOf
}
