import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('..', import.meta.url))

/** Installs the packages for comparison (`tools/bench/package.json`), unless all are present in the right versions. */
export async function installPeers(): Promise<void> {
  const wanted = Object.entries((await manifestOf('')).devDependencies ?? {})
  const found = await Promise.all(wanted.map(([name]) => manifestOf(`node_modules/${name}/`).catch(() => undefined)))
  if (wanted.every(([, version], index) => found[index]?.version === version)) return
  console.error('  installing the packages for comparison: npm ci --prefix tools/bench')
  const child = spawn('npm', ['ci', '--prefix', folder, '--no-audit', '--no-fund'], { stdio: ['ignore', 2, 2] })
  const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
  if (code !== 0) throw new Error(`npm ci --prefix tools/bench ended with ${code}`)
}

interface Manifest {
  readonly version?: string
  readonly devDependencies?: Readonly<Record<string, string>>
}

async function manifestOf(path: string): Promise<Manifest> {
  return JSON.parse(await readFile(`${folder}${path}package.json`, 'utf8'))
}
