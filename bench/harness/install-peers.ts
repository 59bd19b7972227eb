import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('..', import.meta.url))

/** Installs what the platform is compared with (`bench/package.json`), where it is not there yet. */
export async function installPeers(): Promise<void> {
  if (existsSync(`${folder}node_modules/@event-driven-io/emmett-postgresql`)) return
  console.error('  installing what the platform is compared with: npm ci --prefix bench')
  const child = spawn('npm', ['ci', '--prefix', folder, '--no-audit', '--no-fund'], { stdio: ['ignore', 2, 2] })
  const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
  if (code !== 0) throw new Error(`npm ci --prefix bench ended with ${code}`)
}
