import type { FastifyRequest } from 'fastify'
import type { UserDependencies } from '../../commands/users/registration-attempt.ts'
import type { Keys } from '../../engine/reads/opened.ts'
import type { ReadDependencies } from '../../engine/reads/read-route.ts'
import type { Service } from '../../platform/http/service.ts'
import type { Egress } from '../../platform/outbound/egress.ts'
import type { Vault } from '../../platform/vault/vault.ts'

export interface ConsoleDependencies
  extends Pick<ReadDependencies, 'pool' | 'isCurrent'>, Pick<UserDependencies, 'store' | 'configuration' | 'now'> {
  readonly vault: Pick<Vault, 'secret'> & UserDependencies['vault'] & Keys
  readonly egress: Egress
  /**
   * The services whose answers the pages show. Their open streams end when the session does, or the right to them.
   */
  readonly services: (requireSession: (request: FastifyRequest) => Promise<unknown>) => readonly Service[]
}
