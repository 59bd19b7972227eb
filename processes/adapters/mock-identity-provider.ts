import { v5 } from 'uuid'
import type { IdentityProvider } from '../../contracts/users/identity-provider.ts'

/** Name space of the accounts. Never changed: a repeat must find the same subject. */
const accounts = '2c1d5d0e-6a0d-5a5e-9f0b-7e2f6f1c9b11'

/**
 * Takes the place of an identity provider where there is none: development and tests. It calls nothing and sends no
 * message. The subject follows from our user id, so a repeat has the same one, after a restart too.
 */
export function createMockIdentityProvider(): IdentityProvider {
  /** By subject. */
  const enabled = new Map<string, boolean>()
  const subjectOf = (userId: string) => v5(userId, accounts)

  return {
    async create({ userId }) {
      const externalId = subjectOf(userId)
      if (!enabled.has(externalId)) enabled.set(externalId, true)
      return { externalId }
    },
    async get(userId) {
      const externalId = subjectOf(userId)
      const isEnabled = enabled.get(externalId)
      return isEnabled === undefined ? null : { externalId, isEnabled }
    },
    async update(externalId, { isEnabled }) {
      if (enabled.has(externalId)) enabled.set(externalId, isEnabled)
    },
    async delete(externalId) {
      enabled.delete(externalId)
    },
    async resetPassword() {},
  }
}
