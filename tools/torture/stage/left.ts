import { createPool } from '../../../platform/database/database.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import { connectObjectStore } from '../../../platform/storage/object-store.ts'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import type { Left } from '../checks/erased.ts'
import type { Stage } from './stage.ts'

/** The objects and the keys of subjects that exist at the end. */
export async function readLeft(stage: Pick<Stage, 'settings' | 'databaseUrl'>): Promise<Left> {
  const { s3Endpoint = '', s3Region: region, s3Bucket: bucket } = loadConfiguration({ ...stage.settings })
  const { S3_ACCESS_KEY_ID: accessKeyId = '', S3_SECRET_ACCESS_KEY: secretAccessKey = '' } = stage.settings
  const account = { accessKeyId, secretAccessKey }
  const store = connectObjectStore({ endpoint: s3Endpoint, region, bucket, ...account, now: () => new Date() })
  try {
    const objects: string[] = []
    for await (const { key } of store.list('')) objects.push(key)
    return { objects, keys: await keysOfSubjects(stage.databaseUrl('vault')) }
  } finally {
    store.close()
  }
}

/** `<organisation>/<subject>` of the keys in a vault that are not destroyed. */
export async function keysOfSubjects(vaultUrl: string): Promise<ReadonlySet<string>> {
  const logger = createLogger({ level: 'silent' })
  const vault = createPool({ url: vaultUrl, max: 1, name: 'left', logger })
  try {
    const { rows } = await vault.query<{ id: string }>(
      `select id from vault_secrets where kind = 'subject' and destroyed_at is null`,
    )
    return new Set(rows.map(({ id }) => id))
  } finally {
    await vault.end()
  }
}
