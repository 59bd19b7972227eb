import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Credentials } from '../credentials-file.ts'

const program = fileURLToPath(new URL('./first-call.mjs', import.meta.url))

/** Writes a folder with a first program and its settings. Returns the command that runs it. */
export async function writeFirstCall({ base_url, clients: [own] }: Credentials, dataDir: string): Promise<string> {
  if (own === undefined) throw new Error('credentials.json lacks a client')
  const folder = join(dataDir, 'first-call')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const settings = [`PLATFORM_URL=${base_url}`, `CLIENT_ID=${own.client_id}`, `CLIENT_SECRET=${own.client_secret}`, '']
  await writeFile(join(folder, '.env'), settings.join('\n'), { mode: 0o600 })
  await copyFile(program, join(folder, 'first-call.mjs'))
  return `cd ${folder} && node --env-file=.env first-call.mjs`
}
