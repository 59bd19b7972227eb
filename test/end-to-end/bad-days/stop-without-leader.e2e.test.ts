import { expect, test } from 'vitest'
import { hostedEventStore } from 'embedded-eventstore/testing'
import { PretendedCluster } from '../../../tools/torture/stage/pretended-cluster.ts'
import { startInProcessPlatform } from '../../support/in-process-platform.ts'

/** Expects the exit code 0. */
async function stopWithoutLeader(lose: (cluster: PretendedCluster) => void): Promise<void> {
  const store = await hostedEventStore()
  const cluster = await PretendedCluster.start(Number(new URL(store.url).port))
  const given = await startInProcessPlatform({ ESDB_URL: cluster.url })
  lose(cluster)
  const ready = () => fetch(`${given.platform.credentials.base_url}/health/ready`)
  await expect.poll(async () => (await ready()).status, { timeout: 30_000 }).toBe(503)
  await given.close()
  await cluster.close()
  await store.stop()
}

test('a platform whose event store has lost its leader stops cleanly', async () => {
  await stopWithoutLeader((cluster) => {
    cluster.begin({ kind: 'quorum', isRefusing: true, isLate: false, next: 0 })
    // Its subscriptions end too, and find no node.
    cluster.begin({ kind: 'unconfirmed' })
  })
})

test('a platform whose event store answers nothing that needs a leader stops cleanly', async () => {
  await stopWithoutLeader((cluster) => cluster.begin({ kind: 'quorum', isRefusing: false, isLate: false, next: 0 }))
})
