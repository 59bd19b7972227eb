import { v5, v7 } from 'uuid'
import type { CommandContext, TenantId } from '../../platform/kit/tenants.ts'
import { mintedIds } from './minted-id/aggregate.ts'
import type { CommandDependencies } from './dependencies.ts'
import { execute } from './execute.ts'

/**
 * A UUID v7 for the record of a key: the same one at every call, in every process and after a crash. The stream of the
 * key decides which of several simultaneous calls mints it. It stays after a refusal, because another request of the key
 * may still use it.
 *
 * @param key in the clear. Only its HMAC leaves this process
 */
export async function mintId(
  { store, vault, now }: Pick<CommandDependencies, 'store' | 'vault' | 'now'>,
  orgId: TenantId,
  key: string,
  context: CommandContext,
): Promise<string> {
  const keyHash = vault.fingerprint(key)
  const minted = { type: 'IdMinted', data: { id: v7(), mintedAt: now().toISOString() } } as const
  const { state } = await execute(
    store,
    { ...mintedIds.of(orgId, keyHash), isNew: true },
    (before) => (before.status === 'absent' ? [minted] : []),
    { ...context, commandId: v5(`${keyHash}/mint`, context.commandId) },
  )
  if (state.status === 'absent') throw new Error('a minted id is missing')
  return state.id
}
