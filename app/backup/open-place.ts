import { folderPlace } from '../../platform/backup/folder-place.ts'
import { objectPlace, readBucketAddress } from '../../platform/backup/object-place.ts'
import type { BackupPlace } from '../../platform/backup/place.ts'
import type { Configuration } from '../../platform/configuration/configuration.ts'
import { ConfigurationError } from '../../platform/configuration/profile-rules.ts'
import { connectObjectStore } from '../../platform/storage/object-store.ts'

export type PlaceSettings = Pick<
  Configuration,
  'backupS3Endpoint' | 'backupS3Region' | 'backupS3AccessKeyId' | 'backupS3SecretAccessKey'
>

/**
 * A place of backups: a folder, or `s3://bucket/prefix` in the object store of the BACKUP_S3_ settings.
 * @throws ConfigurationError for another address, or without the settings that it needs
 */
export function openPlace(address: string, settings: PlaceSettings): BackupPlace {
  // Mistyped as `s3:/bucket` it would be a folder on the disk of the platform.
  if (!/^(?:[a-z0-9]+:\/|s3:|s3\/\/)/i.test(address)) return folderPlace(address)
  const { backupS3Endpoint: endpoint, backupS3AccessKeyId: accessKeyId } = settings
  const { backupS3Region: region, backupS3SecretAccessKey: secretAccessKey } = settings
  let bucketAddress
  try {
    bucketAddress = readBucketAddress(address)
  } catch (error) {
    throw new ConfigurationError(error instanceof RangeError ? error.message : String(error))
  }
  if (endpoint === undefined || accessKeyId === undefined || secretAccessKey === undefined)
    throw new ConfigurationError(
      `${address} needs BACKUP_S3_ENDPOINT, BACKUP_S3_ACCESS_KEY_ID and BACKUP_S3_SECRET_ACCESS_KEY`,
    )
  const { bucket } = bucketAddress
  const now = () => new Date()
  const account = { region, bucket, accessKeyId, secretAccessKey }
  return objectPlace(connectObjectStore({ endpoint, ...account, now, callLimitMs }), bucketAddress)
}

/** Nobody waits for an answer. Each of four tries has 150 s, so four chunks of 4 MiB at once pass a line of 1 Mbit/s. */
const callLimitMs = 600_000
