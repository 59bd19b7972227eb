import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { readJsonFile } from '../../platform/kit/json-reading.ts'
import { writeDurably } from 'embedded-eventstore/durable-file'
import { freePort } from './free-port.ts'

export type LastingSettings<Port extends string, Secret extends string> = {
  ports: Record<Port, number>
  secrets: Record<Secret, string>
}

type Stored = { ports: Record<string, number>; secrets: Record<string, string> }

const SECRET_BYTES = 32
const DAMAGE_REMEDY = 'restore it from a backup, or remove the data folder to start with an empty one'

/**
 * Returns the ports and secrets of the embedded servers. The first start chooses them and keeps them in `<data
 * dir>/embedded.json` (mode 0600). Later starts use the same ones, because signed addresses inside events contain them.
 * A name that is missing in the file is added. Secrets are 43 characters of base64url. Throws when the file is
 * unreadable; it never chooses again.
 */
export async function lastingSettings<Port extends string, Secret extends string>(
  dataDir: string,
  wanted: { ports: readonly Port[]; secrets: readonly Secret[] },
): Promise<LastingSettings<Port, Secret>> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const file = join(dataDir, 'embedded.json')
  const stored = await readJsonFile(file, isStored, DAMAGE_REMEDY)
  const ports: Record<string, number> = { ...stored?.ports }
  const secrets: Record<string, string> = { ...stored?.secrets }
  const newPorts = wanted.ports.filter((name) => ports[name] === undefined)
  const newSecrets = wanted.secrets.filter((name) => secrets[name] === undefined)

  for (const name of newPorts) ports[name] = await unusedPort(Object.values(ports))
  for (const name of newSecrets) secrets[name] = randomBytes(SECRET_BYTES).toString('base64url')
  if (newPorts.length > 0 || newSecrets.length > 0) {
    await writeDurably(file, `${JSON.stringify({ ports, secrets }, null, 2)}\n`, 0o600)
  }
  return { ports: pick(ports, wanted.ports), secrets: pick(secrets, wanted.secrets) }
}

async function unusedPort(taken: readonly number[]): Promise<number> {
  for (;;) {
    const port = await freePort()
    if (!taken.includes(port)) return port
  }
}

function isStored(value: unknown): value is Stored {
  if (typeof value !== 'object' || value === null || !('ports' in value) || !('secrets' in value)) return false
  return isRecordOf(value.ports, 'number') && isRecordOf(value.secrets, 'string')
}

function isRecordOf(value: unknown, type: 'number' | 'string'): boolean {
  return typeof value === 'object' && value !== null && Object.values(value).every((member) => typeof member === type)
}

function pick<Name extends string, Value>(from: Record<string, Value>, names: readonly Name[]): Record<Name, Value> {
  return Object.fromEntries(names.map((name) => [name, from[name]])) as Record<Name, Value>
}
