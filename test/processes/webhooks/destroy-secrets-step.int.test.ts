import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createEgress, type Egress } from '../../../platform/outbound/egress.ts'
import type { StepOutcome } from '../../../engine/processes/process.ts'
import { webhooksProcess } from '../../../processes/webhooks/webhooks.process.ts'
import { MissingKeyError } from '../../../platform/kit/key-vault.ts'
import { webhookSubscriptions } from '../../../streams/webhook-subscriptions/aggregate.ts'
import { openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { publicKey, subscriptionFact } from '../../streams/webhook-facts.ts'
import { whenWorkedOff } from '../../support/given-process.ts'
import { processDependencies } from '../../support/process-world.ts'
import { subscribe, type Subscribed } from './webhook-steps.ts'

let world: DecisionWorld
let egress: Egress

beforeAll(async () => {
  world = await openDecisionWorld()
  egress = createEgress({ configuration: world.configuration })
})
afterAll(async () => {
  await egress.close()
  await world.close()
})

const now = () => world.now().toISOString()

function destroy(
  { subscriptionId }: Subscribed,
  cause = { eventId: randomUUID(), correlationId: randomUUID() },
): Promise<StepOutcome> {
  const dueAt = new Date(world.now().getTime() - 86_400_000)
  const todo = { key: subscriptionId, step: 'destroy-secrets', orgId: world.orgId, dueAt, payload: { cause } }
  return whenWorkedOff(webhooksProcess, todo, processDependencies(world, egress), world.now())
}

async function rotated(of: Subscribed): Promise<string> {
  const secretId = randomUUID()
  await world.vault.secret('webhook', secretId)
  await of.append(
    subscriptionFact('WebhookSecretRotated', {
      subscriptionId: of.subscriptionId,
      secretId,
      publicKey: null,
      rotatedAt: now(),
      previousValidUntil: now(),
      request: null,
    }),
  )
  return secretId
}

async function lastOf(type: string): Promise<unknown> {
  const last = await world.store.readLast(webhookSubscriptions.of(world.orgId).stream)
  return last?.type === type ? last.data : undefined
}

it('destroys every secret that a deleted subscription ever had, and records this once', async () => {
  const kept = await subscribe(world, { url: 'https://kept.example/' })
  const gone = await subscribe(world, { url: 'https://gone.example/', signatureSchemes: ['v1', 'v1a'], publicKey })
  await world.vault.secret('webhook-signing', gone.subscriptionId)
  const secretId = await rotated(gone)
  await gone.append(
    subscriptionFact('WebhookSubscriptionDeleted', { subscriptionId: gone.subscriptionId, deletedAt: now() }),
  )

  const cause = { eventId: randomUUID(), correlationId: randomUUID() }
  expect(await destroy(gone, cause)).toMatchObject({ kind: 'done', position: expect.anything() })
  expect(await lastOf('WebhookSecretsDestroyed')).toEqual({ subscriptionId: gone.subscriptionId, destroyedAt: now() })
  expect(await destroy(gone, cause)).toEqual({ kind: 'done', position: undefined })
  for (const id of [gone.subscriptionId, secretId]) {
    await expect(world.vault.storedSecret('webhook', id)).rejects.toThrow(MissingKeyError)
    await expect(world.vault.secret('webhook', id)).rejects.toThrow(MissingKeyError)
  }
  await expect(world.vault.storedSecret('webhook-signing', gone.subscriptionId)).rejects.toThrow(MissingKeyError)
  expect(await world.vault.storedSecret('webhook', kept.subscriptionId)).toHaveLength(24)
})

it('keeps the secrets of a subscription that was not deleted', async () => {
  const own = await subscribe(world, { url: 'https://own.example/' })
  await expect(destroy(own)).rejects.toThrow('was not deleted')
  expect(await world.vault.storedSecret('webhook', own.subscriptionId)).toHaveLength(24)
})
