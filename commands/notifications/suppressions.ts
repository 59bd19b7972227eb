import { v5 } from 'uuid'
import { comparedChannel } from '../../contracts/notifications/settings.ts'
import { comparedAddress } from '../../platform/kit/mail-address.ts'
import { noOrganisation, type TenantId } from '../../platform/kit/tenants.ts'
import { suppressions, type SuppressionState } from '../../streams/suppression/aggregate.ts'
import type { SuppressionEvent } from '../../streams/suppression/events.ts'
import type { NotificationChannel } from '../../streams/types.ts'
import { refused, type Decision } from '../../engine/commands/decision.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'

interface SuppressedAddress {
  readonly channel: NotificationChannel
  readonly address: string
  /** Null: of the platform. */
  readonly orgId: TenantId | null
}

type Hashing = { readonly vault: Pick<CommandDependencies['vault'], 'fingerprint'> }

const suppressionIds = '6d3d1c0e-2f8b-5a43-8a55-6f0a3b9e7c21'

/** Only a holder of the vault can find out whether an id belongs to an address. */
export function suppressionIdOf({ vault }: Hashing, { channel, address, orgId }: SuppressedAddress): string {
  const compared = channel === 'email' ? comparedAddress(address) : comparedChannel(address)
  const hash = vault.fingerprint(['suppression', orgId ?? noOrganisation, channel, compared].join('\0'))
  return v5(hash, suppressionIds)
}

/** Whether the organisation or the platform suppresses the address. Reads the streams, so the answer is current. */
export async function isSuppressed(
  deps: Pick<CommandDependencies, 'store'> & Hashing,
  { orgId, ...address }: SuppressedAddress & { readonly orgId: TenantId },
): Promise<boolean> {
  const states = [orgId, null].map(async (owner) => {
    const id = suppressionIdOf(deps, { ...address, orgId: owner })
    return (await deps.store.load(suppressions.of(owner ?? noOrganisation, id))).state
  })
  return (await Promise.all(states)).some(({ status }) => status === 'existing')
}

type Added = Extract<SuppressionEvent, { type: 'SuppressionAdded' }>['data']

/** The fingerprint covers key and body. The key does not determine the id, so another key is another request. */
export interface AddSuppression extends Omit<Added, 'addedAt'> {
  readonly now: Date
}

export function addSuppression(
  { now, ...entry }: AddSuppression,
  state: SuppressionState,
): Decision<SuppressionEvent, 'suppression-exists' | 'suppression-removed'> {
  const { fingerprint } = entry
  if (state.status !== 'absent' && fingerprint !== null && state.fingerprints.includes(fingerprint))
    return state.status === 'existing' ? [] : refused('suppression-removed')
  if (state.status === 'existing') return refused('suppression-exists')
  return [{ type: 'SuppressionAdded', data: { ...entry, addedAt: now.toISOString() } }]
}

export function removeSuppression(
  { changedBy, now }: { readonly changedBy: string; readonly now: Date },
  state: SuppressionState,
): Decision<SuppressionEvent, 'not-found'> {
  if (state.status !== 'existing') return refused('not-found')
  const { suppressionId, orgId } = state
  return [{ type: 'SuppressionRemoved', data: { suppressionId, orgId, removedAt: now.toISOString(), changedBy } }]
}
