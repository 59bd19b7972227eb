import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BenchPlatform } from '../load/platform.ts'
import type { Addresses } from './world.ts'

/** How another process reaches the embedded servers of a platform, whose keys are in `folder`. */
export async function addressesOf(
  { eventStoreUrl, databaseUrl, vaultUrl }: BenchPlatform,
  folder: string,
): Promise<Addresses> {
  const masterKeys = (await readFile(join(folder, 'master-keys'), 'utf8')).trim()
  return { eventStoreUrl, databaseUrl, vaultUrl, masterKeys }
}
