import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Credentials } from '../credentials-file.ts'

const files = ['first-call.mjs', 'main-job.http', '../../embedded/photos/lesion-1.jpg']

/** Writes a folder with a first program, the main job as requests, and their settings. Returns the command that runs the program. */
export async function writeFirstCall(credentials: Credentials, dataDir: string): Promise<string> {
  const {
    base_url: url,
    admin_api_secret: adminSecret,
    clients: [own],
  } = credentials
  if (own === undefined) throw new Error('credentials.json lacks a client')
  const folder = join(dataDir, 'first-call')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const settings = {
    PLATFORM_URL: url,
    CLIENT_ID: own.client_id,
    CLIENT_SECRET: own.client_secret,
    ADMIN_API_SECRET: adminSecret ?? '',
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
  await writeFile(join(folder, '.env'), lines.join(''), { mode: 0o600 })
  for (const file of files) await copyFile(fileURLToPath(new URL(file, import.meta.url)), join(folder, basename(file)))
  return `cd ${folder} && node --env-file=.env first-call.mjs`
}
