import { X509Certificate, createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { ifPresent } from '../error-codes.ts'
import { writeDurably } from '../durable-file.ts'
import { selfSignedCertificate, type KeyedCertificate } from './self-signed.ts'

/** Path of the node's own certificate, below its data folder. */
export const CERTIFICATE_FILE = join('tls', 'certificate.pem')
const KEY_FILE = join('tls', 'key.pem')

/** Reads a certificate and its key, in PEM. Throws Error when one cannot be read. */
export function readCertificate(certificatePath: string, keyPath: string): KeyedCertificate {
  return { certificate: readFileSync(certificatePath, 'utf8'), key: readFileSync(keyPath, 'utf8') }
}

/**
 * Returns the certificate that the node keeps in its data folder. The node makes a new one when the old one is missing,
 * damaged, or not for these hosts. A crash between the two files therefore never stops a later start.
 */
export async function ownCertificate(dataDir: string, hosts: string[]): Promise<KeyedCertificate & { path: string }> {
  const path = join(dataDir, CERTIFICATE_FILE)
  const keyPath = join(dataDir, KEY_FILE)
  const found = { certificate: await textOf(path), key: await textOf(keyPath) }
  if (isUsable(found, hosts)) return { ...found, path }
  const made = selfSignedCertificate(hosts)
  await mkdir(join(dataDir, 'tls'), { recursive: true, mode: 0o700 })
  await writeDurably(keyPath, made.key, 0o600)
  await writeDurably(path, made.certificate, 0o644)
  return { ...made, path }
}

/** Empty for a file that does not exist. */
async function textOf(path: string): Promise<string> {
  return (await ifPresent(readFile(path, 'utf8'))) ?? ''
}

function isUsable({ certificate, key }: KeyedCertificate, hosts: string[]): boolean {
  try {
    const parsed = new X509Certificate(certificate)
    return (
      !parsed.ca &&
      parsed.checkPrivateKey(createPrivateKey(key)) &&
      hosts.every((host) => (isIP(host) === 0 ? parsed.checkHost(host) : parsed.checkIP(host)) !== undefined)
    )
  } catch {
    return false
  }
}
